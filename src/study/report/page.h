// The pages that this program writes: one HTML file with nothing outside itself, set like a paper.
#pragma once

#include <string>

namespace ovde {

// `body` is HTML; `title` and `subject` (what the page is about, at its foot) are text.
std::string html_page(const std::string& title, const std::string& body,
                      const std::string& subject);

// A style or script of src/study/report/web by its name.
const std::string& page_file(const std::string& name);

// A drawing that is an SVG element, with text below it.
std::string html_figure(const std::string& svg, const std::string& caption);

}  // namespace ovde
