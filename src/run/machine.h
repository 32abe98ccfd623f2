// The parts of a machine on which the last bits of results depend. Stored with a run, and compared
// when it is resumed.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ovde {

// Names and values: processor, the instructions that the program was compiled for, C library,
// a checksum of the values of its mathematical functions, MuJoCo.
using Machine = std::map<std::string, std::string>;
const Machine& this_machine();

// "C library: 2.31, now 2.36": the parts that both have and that differ.
std::vector<std::string> differences(const Machine& before, const Machine& now);

}  // namespace ovde
