// Runs the real program in a temporary folder and collects its output.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/files.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {

// A shell command that polls until `condition` holds, at most a minute and while the process $pid
// exists, so that tests do not depend on the speed of the machine.
inline std::string wait_until(const std::string& condition) {
  return "for i in $(seq 1200); do { " + condition +
         "; } 2>/dev/null && break; kill -0 $pid 2>/dev/null || break; sleep 0.05; done; ";
}

struct Outcome {
  int code = -1;
  std::string out, err;
};

class Program {
 public:
  // `arguments` are parsed by a shell. The temporary folder is the current one.
  Outcome run(const std::string& arguments) const {
    return shell(std::string("'") + OVDE_PROGRAM + "' " + arguments);
  }

  // Runs a shell command there.
  Outcome shell(const std::string& script) const {
    const auto out = streams_.path() / "out", err = streams_.path() / "err";
    const std::string command = "cd '" + folder_.path().string() + "' && { " + script + "; } >'" +
                                out.string() + "' 2>'" + err.string() + "' </dev/null";
    const int status = std::system(command.c_str());
    if (!WIFEXITED(status)) throw std::runtime_error("the program did not exit: " + script);
    return {WEXITSTATUS(status), read_file(out), read_file(err)};
  }

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::vector<std::string> files() const { return folder_.names(); }

 private:
  TemporaryFolder folder_, streams_;
};

struct Refusal {
  std::string arguments;
  std::vector<std::string> words;  // each is in the message
};

// Each is answered with exit code 2 and one line, and changes no file. All arguments follow
// `command`.
inline void expect_refusals(const std::vector<Refusal>& refusals, const Program& program = {},
                            const std::string& command = "") {
  const auto before = program.files();
  for (const auto& [arguments, words] : refusals) {
    SCOPED_TRACE(command + arguments);
    const Outcome outcome = program.run(command + arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("ovde: ")) << outcome.err;
    expect_words(outcome.err, words);
  }
  EXPECT_EQ(program.files(), before);
}

}  // namespace ovde
