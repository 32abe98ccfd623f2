// Populations that are trained side by side, each by threads of its own, which help each other out:
// one that has nothing to do, because its own population is on the GPU or has come to its end,
// takes a piece of another one's work.
#pragma once

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "base/team.h"

namespace ovde {

// A population that others can help.
class Helped {
 public:
  // Does a piece of its work, if there is one. Does not throw.
  virtual bool help() = 0;

 protected:
  ~Helped() = default;
};

class Neighbours {
 public:
  explicit Neighbours(int populations) : doors_(populations), at_work_(populations) {}

  // Population `place` can be helped from now on.
  void open(int place, Helped& population) { doors_[place].population = &population; }
  // No longer: waits for those that are at it.
  void close(int place) {
    doors_[place].population = nullptr;
    while (doors_[place].guests > 0) std::this_thread::yield();
  }

  // A piece of work of any other population than that at `place`. False: there is none now.
  bool help(int place) {
    const int count = static_cast<int>(doors_.size());
    for (int i = 1; i < count; ++i) {
      Door& door = doors_[(place + i) % count];
      if (door.population == nullptr) continue;
      ++door.guests;  // from here on it stays, if it is there
      Helped* population = door.population;
      const bool helped = population != nullptr && population->help();
      --door.guests;
      if (helped) return true;
    }
    return false;
  }

  // One population has come to its end.
  void finished() { --at_work_; }

  // So many threads, for the other populations than that at `place`, until all have.
  void help_to_the_end(int place, int threads) {
    const auto work = [&](int) {
      while (at_work_ > 0) {
        if (!help(place)) std::this_thread::yield();
      }
    };
    try {
      Team(threads).run(threads, work);
    } catch (const std::exception&) {  // no more threads: then nobody helps
    }
  }

 private:
  struct Door {
    std::atomic<Helped*> population{nullptr};
    std::atomic<int> guests{0};
  };
  std::vector<Door> doors_;
  std::atomic<int> at_work_;
};

// A population's place among its neighbours; without neighbours by default.
struct Neighbour {
  Neighbours* neighbours = nullptr;
  int number = 0;

  bool help_others() const { return neighbours != nullptr && neighbours->help(number); }
};

// As long as it lives, others can help the population.
class OpenDoor {
 public:
  OpenDoor(const Neighbour& neighbour, Helped& population) : neighbour_(neighbour) {
    if (neighbour_.neighbours != nullptr)
      neighbour_.neighbours->open(neighbour_.number, population);
  }
  ~OpenDoor() {
    if (neighbour_.neighbours != nullptr) neighbour_.neighbours->close(neighbour_.number);
  }
  OpenDoor(const OpenDoor&) = delete;
  OpenDoor& operator=(const OpenDoor&) = delete;

 private:
  Neighbour neighbour_;
};

}  // namespace ovde
