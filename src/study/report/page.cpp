#include "study/report/page.h"

#include <fmt/format.h>

#include "base/version.h"
#include "study/report/tables.h"

namespace ovde {

std::string html_page(const std::string& title, const std::string& body,
                      const std::string& subject) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{}</style>\n</head>\n"
      "<body><main>\n{}<footer>ovde {}, {}</footer>\n</main></body>\n</html>\n",
      escape_html(title), page_file("page.css"), body, version(), escape_html(subject));
}

std::string run_subject(const std::filesystem::path& run) {
  const std::filesystem::path whole = std::filesystem::absolute(run / "").lexically_normal();
  const std::filesystem::path folder = whole.parent_path();
  const std::string name = folder.filename().string();
  const bool is_agent = name.starts_with("seed_");
  return fmt::format("run {}{}", is_agent ? folder.parent_path().filename().string() + "/" : "",
                     name);
}

std::string html_figure(const std::string& svg, const std::string& caption,
                        const std::string& kind) {
  return fmt::format("<figure{}>{}<figcaption>{}</figcaption></figure>\n",
                     kind.empty() ? "" : fmt::format(" class=\"{}\"", kind), svg,
                     escape_html(caption));
}

}  // namespace ovde
