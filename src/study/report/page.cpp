#include "study/report/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "base/version.h"

namespace ovde {

namespace {

std::string class_of(const std::string& kind) {
  return kind.empty() ? "" : fmt::format(" class=\"{}\"", kind);
}

}  // namespace

std::string escape_html(const std::string& text) {
  return replaced(text,
                  {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string html_page(const std::string& title, const std::string& body,
                      const std::string& subject) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{}</style>\n</head>\n"
      "<body><main>\n{}<footer>ovde {}, {}</footer>\n</main></body>\n</html>\n",
      escape_html(title), page_file("page.css"), body, version(), escape_html(subject));
}

std::string run_subject(const fs::path& run) {
  const fs::path whole = fs::absolute(run / "").lexically_normal();
  const fs::path folder = whole.parent_path();
  const std::string name = folder.filename().string();
  const bool is_agent = name.starts_with("seed_");
  return fmt::format("run {}{}", is_agent ? folder.parent_path().filename().string() + "/" : "",
                     name);
}

std::string html_paragraph(const std::string& text, const std::string& kind) {
  return text.empty() ? "" : fmt::format("<p{}>{}</p>\n", class_of(kind), escape_html(text));
}

std::string html_figure(const std::string& svg, const std::string& caption,
                        const std::string& kind) {
  return fmt::format("<figure{}>{}<figcaption>{}</figcaption></figure>\n", class_of(kind), svg,
                     escape_html(caption));
}

std::string html_table(const std::vector<std::string>& head, const std::string& rows,
                       const std::string& kind) {
  return fmt::format(
      "<div class=\"scroll\"><table{}><thead><tr><th>{}</th></tr></thead><tbody>\n"
      "{}</tbody></table></div>\n",
      class_of(kind), fmt::join(head, "</th><th>"), rows);
}

std::string html_row(const std::string& name, const std::vector<std::string>& cells) {
  return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", name,
                     fmt::join(cells, "</td><td>"));
}

}  // namespace ovde
