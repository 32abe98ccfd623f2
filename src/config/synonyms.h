// Option names of Stable-Baselines3, CleanRL and Gymnasium. A name with the same meaning as a key
// is read as that key; for the others an error names the right key. docs/words.md has the same
// table.
#pragma once

#include <string>
#include <vector>

#include "io/settings.h"

namespace ovde {

struct Synonym {
  std::string word;    // for example "batch_size"
  std::string key;     // such as "train.batch", or an option; empty: none has the same meaning
  std::string answer;  // the advice, where there is none
};

const std::vector<Synonym>& synonyms();

// "batch_size" for "--batch-size" and "train.batch_size".
std::string plain_word(const std::string& typed);

// The synonym of a key or an option; nullptr: none.
const Synonym* find_synonym(const std::string& typed,
                            const std::vector<Synonym>& among = synonyms());

// The setting with the key that its synonym stands for. InputError with the answer where no key has
// the same meaning.
Setting translated(Setting setting);

// ---- keys of earlier versions: configurations that have them still open

// The settings without removed keys, and with today's names of renamed ones. A removed key may have
// the value that every run has now; InputError with the reason where it has another.
std::vector<Setting> in_todays_keys(std::vector<Setting> settings);

}  // namespace ovde
