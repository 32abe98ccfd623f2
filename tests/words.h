// Checks that a text contains given words.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ovde {

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_TRUE(has(text, word)) << "no '" << word << "' in: " << text;
}

}  // namespace ovde
