// The keys of the configuration as text: for `ovde list config`, and as the page docs/config.md.
#pragma once

#include <string>

namespace ovde::cli {

std::string config_listing();
std::string config_page();  // Markdown

}  // namespace ovde::cli
