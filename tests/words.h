// The words of texts and of messages.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ovde/error.h>

namespace ovde {

// The message of the error that a call throws; empty if it throws none of this type.
template <typename Refusal = InputError, typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Refusal& error) {
    return error.what();
  }
  return "";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_TRUE(has(text, word)) << "no '" << word << "' in: " << text;
}

}  // namespace ovde
