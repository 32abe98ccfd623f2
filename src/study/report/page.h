// The pages that this program writes: self-contained HTML files, set like a paper.
#pragma once

#include <string>
#include <vector>

#include "base/file_system.h"

namespace ovde {

// `body` is HTML; `title` and `subject` (in the footer) are text.
std::string html_page(const std::string& title, const std::string& body,
                      const std::string& subject);

std::string escape_html(const std::string& text);

// "run hopper/seed_0", for the footer: a page that is sent to others has no absolute paths.
std::string run_subject(const fs::path& run);

// A style or script of src/study/report/web, by its name.
const std::string& page_file(const std::string& name);

// A paragraph of text; empty without text. `kind`: a class of the page's style.
std::string html_paragraph(const std::string& text, const std::string& kind = "");

// An SVG element with a caption.
std::string html_figure(const std::string& svg, const std::string& caption,
                        const std::string& kind = "");

// A table that scrolls where the page is narrow, and a row of it. All texts are HTML.
std::string html_table(const std::vector<std::string>& head, const std::string& rows,
                       const std::string& kind = "");
std::string html_row(const std::string& name, const std::vector<std::string>& cells);

}  // namespace ovde
