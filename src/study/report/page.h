// The pages that this program writes: self-contained HTML files, set like a paper.
#pragma once

#include <string>

namespace ovde {

// `body` is HTML; `title` and `subject` (in the footer) are text.
std::string html_page(const std::string& title, const std::string& body,
                      const std::string& subject);

// A style or script of src/study/report/web, by its name.
const std::string& page_file(const std::string& name);

// An SVG element with a caption. `kind`: a class of the page's style.
std::string html_figure(const std::string& svg, const std::string& caption,
                        const std::string& kind = "");

}  // namespace ovde
