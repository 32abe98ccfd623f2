// Words of other programs that are options of this one, or are answered with one. Those that are
// keys of the configuration are config/synonyms.h.
#pragma once

#include <string>
#include <vector>

#include "io/settings.h"

namespace ovde::cli {

struct OptionWord {
  std::string word;    // "env"; typed as --env
  std::string option;  // "--task"; empty: none is the same
  std::string answer;  // what to use then
};

const std::vector<OptionWord>& option_words();

// Options of `train` that other programs have become its own: --env ID is --task ID, --batch-size
// 64 is --set train.batch=64. `own`: those it has. What was taken for what goes to `notes`.
// InputError with the answer where nothing has the same meaning.
void translate_options(std::vector<std::string>& words, const std::vector<std::string>& own,
                       std::vector<std::string>& notes);

// InputError where a key is a word for an option.
void refuse_option_words(const Setting& setting);

}  // namespace ovde::cli
