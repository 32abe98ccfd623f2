#include "study/report/page.h"

#include <fmt/format.h>

#include "base/version.h"
#include "study/report/tables.h"

namespace ovde {

namespace {

// Set like a paper: one column of serif text, tables with rules above and below, little colour.
constexpr const char* kStyle = R"css(
:root { color-scheme: light; }
body { margin: 0; background: #fff; color: #1a1a1a;
  font: 17px/1.55 Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif; }
main { max-width: 940px; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem; }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .3rem; }
p { margin: .5rem 0; }
.lead, .caption, footer { color: #555; font-size: .88rem; }
.warning { background: #fff6e0; border-left: 4px solid #E69F00; padding: .5rem .8rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0 .3rem; font-size: .92rem;
  font-variant-numeric: tabular-nums lining-nums; border-top: 2px solid #222; border-bottom: 2px solid #222; }
thead th { border-bottom: 1px solid #222; text-align: right; font-weight: 600; }
thead th:first-child, tbody th { text-align: left; }
th, td { padding: .28rem .75rem; white-space: nowrap; }
tbody th { font-weight: 500; vertical-align: top; }
td { text-align: right; vertical-align: top; }
tr.groups th, tr.groups td { border-top: 1px solid #222; }
.paper { display: block; color: #8a8a8a; font-size: .82em; }
.mark { color: #222; font-size: .7em; margin-left: .25em; vertical-align: .2em; }
.missing { color: #a0a0a0; font-style: italic; }
figure { margin: 1.2rem 0; }
figure svg { display: block; max-width: 100%; height: auto; margin: 0 auto; }
figure svg image { image-rendering: pixelated; }
figcaption { color: #555; font-size: .88rem; margin-top: .4rem; }
details { margin: .8rem 0; } summary { cursor: pointer; color: #0072B2; }
footer { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: .6rem; }
@media print { main { max-width: none; padding: 0; } figure, table { break-inside: avoid; } }
)css";

}  // namespace

std::string html_page(const std::string& title, const std::string& body,
                      const std::string& subject) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{}</style>\n</head>\n"
      "<body><main>\n{}<footer>ovde {}, {}</footer>\n</main></body>\n</html>\n",
      escape_html(title), kStyle, body, version(), escape_html(subject));
}

std::string html_figure(const std::string& svg, const std::string& caption) {
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, escape_html(caption));
}

}  // namespace ovde
