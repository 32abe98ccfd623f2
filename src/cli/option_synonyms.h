// Option names of other programs (Stable-Baselines3, CleanRL). Names of configuration keys are in
// config/synonyms.h.
#pragma once

#include <string>
#include <vector>

#include "config/synonyms.h"
#include "io/settings.h"

namespace ovde::cli {

const std::vector<Synonym>& option_synonyms();

// The name of an algorithm typed in any case: "SAC", "OVDE-G". InputError with an explanation for
// well-known algorithms that are not here; other unknown names are returned unchanged.
std::string algorithm_name(const std::string& typed);

// InputError that mentions Python for an unknown task that is named as in Gymnasium.
void check_task_name(const std::string& typed);

// Replaces the option names of other programs in a `train` command: --env ID becomes --task ID,
// --batch-size 64 becomes --set train.batch=64. `own`: the options of `train`. Appends a note about
// each replacement to `notes`. InputError with the answer where there is no equivalent.
void translate_options(std::vector<std::string>& words, const std::vector<std::string>& own,
                       std::vector<std::string>& notes);

// InputError where the key of a setting is the name of an option.
void refuse_option_synonyms(const Setting& setting);

// "--gamma", "--total-timesteps": the options of other programs that have a meaning here.
std::vector<std::string> words_of_other_programs();

}  // namespace ovde::cli
