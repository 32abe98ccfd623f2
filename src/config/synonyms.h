// Words that people bring from other programs of the field: Stable-Baselines3, CleanRL, Gymnasium.
// Where the meaning is the same the word is taken for the key, elsewhere the answer names the right
// one. docs/words.md has the same table for users.
#pragma once

#include <string>
#include <vector>

#include "io/settings.h"

namespace ovde {

struct Synonym {
  std::string word;    // "batch_size"; typed as an option, with dashes
  std::string key;     // "train.batch"; empty: none has the same meaning
  std::string answer;  // what to use then
};

const std::vector<Synonym>& synonyms();

// The bare word of a key or an option as it was typed.
std::string plain_word(const std::string& typed);

// The synonym that "batch_size", "train.batch_size" or the option of that name is; nullptr: none.
const Synonym* find_synonym(const std::string& typed);

// The setting under its own key. InputError with the answer where there is none of the same
// meaning.
Setting translated(Setting setting);

}  // namespace ovde
