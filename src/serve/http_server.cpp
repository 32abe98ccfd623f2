#include "serve/http_server.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/host_name.h"
#include "base/text.h"

namespace ovde {

namespace {

constexpr std::size_t kLongestTarget = 1024;
constexpr auto kTick = std::chrono::milliseconds(250);

const char* reason(int status) {
  static const std::map<int, const char*> reasons = {{200, "OK"},
                                                     {400, "Bad Request"},
                                                     {403, "Forbidden"},
                                                     {404, "Not Found"},
                                                     {405, "Method Not Allowed"},
                                                     {408, "Request Timeout"},
                                                     {413, "Content Too Large"},
                                                     {414, "URI Too Long"},
                                                     {431, "Request Header Fields Too Large"},
                                                     {500, "Internal Server Error"},
                                                     {503, "Service Unavailable"},
                                                     {505, "HTTP Version Not Supported"}};
  return reasons.at(status);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

// tchar of RFC 9110, section 5.6.2
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    const bool alphanumeric = (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
    return alphanumeric || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

// nullopt if the path is malformed.
std::optional<std::string> decoded(std::string_view path) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    char c = path[i];
    if (c == '%') {
      if (i + 2 >= path.size() || hex(path[i + 1]) < 0 || hex(path[i + 2]) < 0) return std::nullopt;
      c = static_cast<char>(hex(path[i + 1]) * 16 + hex(path[i + 2]));
      i += 2;
    }
    if (is_control(c) || c == ' ') return std::nullopt;
    out += c;
  }
  return out;
}

bool is_address(std::string_view host) {
  const std::string text(host);
  in6_addr any;
  if (text.size() > 2 && text.front() == '[' && text.back() == ']')
    return ::inet_pton(AF_INET6, text.substr(1, text.size() - 2).c_str(), &any) == 1;
  return ::inet_pton(AF_INET, text.c_str(), &any) == 1;
}

Descriptor listen_at(const std::string& address, int port, int& bound) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("cannot serve at {} port {}: {}", address, port, why));
  };
  sockaddr_storage storage = {};
  socklen_t size = 0;
  if (auto* four = reinterpret_cast<sockaddr_in*>(&storage);
      ::inet_pton(AF_INET, address.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(static_cast<std::uint16_t>(port));
    size = sizeof *four;
  } else if (auto* six = reinterpret_cast<sockaddr_in6*>(&storage);
             ::inet_pton(AF_INET6, address.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(static_cast<std::uint16_t>(port));
    size = sizeof *six;
  } else {
    refuse("not an IP address, such as 127.0.0.1 or 0.0.0.0");
  }
  auto* const where = reinterpret_cast<sockaddr*>(&storage);
  Descriptor listener(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (listener.valid()) ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!listener.valid() || ::bind(listener.get(), where, size) != 0 ||
      ::listen(listener.get(), 128) != 0 || ::getsockname(listener.get(), where, &size) != 0)
    refuse(std::strerror(errno));
  bound = ntohs(storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(where)->sin_port
                                             : reinterpret_cast<sockaddr_in6*>(where)->sin6_port);
  return listener;
}

// For a connection that is then closed; whether it arrives does not matter.
void send_refusal(const Descriptor& socket, int status) {
  const std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status, reason(status));
  static_cast<void>(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL));
}

HttpResponse answer_of(const HttpServer::Handler& handler, const HttpRequest& request) {
  try {
    return handler(request);
  } catch (const std::exception& error) {
    return refusal(500, error.what());
  }
}

}  // namespace

struct HttpServer::Connection {
  explicit Connection(Descriptor opened) : socket(std::move(opened)) {}

  Descriptor socket;
  std::string in;
  std::deque<std::shared_ptr<const std::string>> out;
  std::size_t written = 0;  // bytes of the first that were sent
  std::size_t pending = 0;  // bytes of all that were not
  bool events = false, closes = false, gone = false;
  Clock::time_point since = Clock::now();  // last progress: a request began, a byte was sent

  void send(std::shared_ptr<const std::string> text) {
    if (text->empty()) return;
    if (out.empty()) since = Clock::now();
    pending += text->size();
    out.push_back(std::move(text));
  }
  void send(std::string text) { send(std::make_shared<const std::string>(std::move(text))); }
};

std::optional<std::string_view> HttpRequest::text(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=')
      return part.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::optional<std::int64_t> HttpRequest::number(std::string_view name) const {
  return parse_number<std::int64_t>(text(name).value_or(""));
}

HttpResponse refusal(int status, const std::string& why) {
  return {.status = status, .body = std::make_shared<const std::string>(why + "\n")};
}

bool is_allowed_host(std::string_view host, bool only_local, std::string_view host_name) {
  const auto colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    const std::string_view port = host.substr(colon + 1);
    if (port.empty() || !std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }))
      return false;
    host = host.substr(0, colon);
  }
  if (same_word(host, "localhost") || is_address(host)) return true;
  return !only_local && !host_name.empty() && same_word(host, host_name);
}

int parse_head(std::string_view head, ParsedHead& out) {
  // "GET /path?query HTTP/1.1"
  const auto line_end = head.find("\r\n");
  if (line_end == std::string_view::npos) return 400;
  const std::string_view line = head.substr(0, line_end);
  const auto first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return 400;
  const std::string_view method = line.substr(0, first),
                         target = line.substr(first + 1, last - first - 1),
                         version = line.substr(last + 1);
  if (!is_token(method) || !version.starts_with("HTTP/")) return 400;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return 505;
  if (method != "GET" && method != "HEAD") return 405;
  if (target.size() > kLongestTarget) return 414;
  if (target.empty() || target.front() != '/') return 400;
  if (std::ranges::any_of(target, [](char c) { return is_control(c) || c == ' '; })) return 400;
  out.head_only = method == "HEAD";
  out.keep_alive = version == "HTTP/1.1";
  const auto mark = target.find('?');
  const auto path = decoded(target.substr(0, mark));
  if (!path) return 400;
  out.request.path = *path;
  if (mark != std::string_view::npos) out.request.query = target.substr(mark + 1);

  // header fields: host and connection are read, those that announce a body refused
  int hosts = 0;
  std::string_view rest = head.substr(line_end + 2);
  while (true) {
    const auto end = rest.find("\r\n");
    if (end == std::string_view::npos) return 400;
    const std::string_view field = rest.substr(0, end);
    rest = rest.substr(end + 2);
    if (field.empty()) break;
    const auto colon = field.find(':');
    if (colon == std::string_view::npos || !is_token(field.substr(0, colon))) return 400;
    const std::string_view name = field.substr(0, colon), value = trimmed(field.substr(colon + 1));
    if (std::ranges::any_of(value, [](char c) { return is_control(c) && c != '\t'; })) return 400;
    if (same_word(name, "host")) {
      out.host = value;
      ++hosts;
    }
    if (same_word(name, "connection")) {
      if (same_word(value, "close")) out.keep_alive = false;
      if (same_word(value, "keep-alive")) out.keep_alive = true;
    }
    if (same_word(name, "transfer-encoding")) return 400;
    if (same_word(name, "content-length") && value != "0") return 413;
  }
  return hosts == 1 ? 0 : 400;
}

HttpServer::HttpServer(const std::string& address, int port, const HttpLimits& limits)
    : limits_(limits),
      only_local_(address.starts_with("127.") || address == "::1"),
      host_name_(host_name()),
      listener_(listen_at(address, port, port_)) {}

HttpServer::~HttpServer() = default;

std::size_t HttpServer::viewers() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(connections_, [](const Connection& c) { return c.events; }));
}

std::size_t HttpServer::pending() const {
  std::size_t sum = 0;
  for (const Connection& connection : connections_) sum += connection.pending;
  return sum;
}

void HttpServer::publish(const std::string& name, const std::string& data) {
  const auto event =
      std::make_shared<const std::string>(fmt::format("event: {}\ndata: {}\n\n", name, data));
  for (Connection& connection : connections_) {
    if (!connection.events || connection.gone) continue;
    // a viewer that does not read is disconnected; it gets everything when it reconnects
    if (connection.pending > limits_.pending_events)
      connection.gone = true;
    else
      connection.send(event);
  }
}

void HttpServer::accept_all() {
  while (true) {
    Descriptor opened(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!opened.valid()) {
      // no descriptors left: the connection waits until the next round
      if (errno == EMFILE || errno == ENFILE) ::poll(nullptr, 0, kTick.count());
      return;
    }
    const int yes = 1;
    ::setsockopt(opened.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connections_.size() >= limits_.connections) {
      send_refusal(opened, 503);
      continue;
    }
    connections_.emplace_back(std::move(opened));
  }
}

void HttpServer::read_from(Connection& connection, const Handler& handler) {
  char bytes[4096];
  const ssize_t count = ::recv(connection.socket.get(), bytes, sizeof bytes, 0);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) connection.gone = true;
  if (count <= 0 || connection.closes || connection.events) return;
  if (connection.in.empty() && connection.out.empty()) connection.since = Clock::now();
  connection.in.append(bytes, static_cast<std::size_t>(count));
  answer(connection, handler);
}

// Answers the complete requests that have arrived.
void HttpServer::answer(Connection& connection, const Handler& handler) {
  while (!connection.closes && !connection.events && connection.out.empty()) {
    const auto end = connection.in.find("\r\n\r\n");
    const bool too_long =
        end == std::string::npos ? connection.in.size() > limits_.head : end > limits_.head;
    if (end == std::string::npos && !too_long) return;

    ParsedHead head;
    const int refused =
        too_long ? 431 : parse_head(std::string_view(connection.in).substr(0, end + 4), head);
    HttpResponse response;
    if (refused != 0)
      response = refusal(refused, reason(refused));
    else if (!is_allowed_host(head.host, only_local_, host_name_))
      response = refusal(403, "this server does not answer to that name");
    else
      response = answer_of(handler, head.request);
    connection.in.erase(0, too_long ? std::string::npos : end + 4);

    if (response.events && viewers() >= limits_.viewers)
      response = refusal(503, "too many viewers");
    if (!response.body) response.body = std::make_shared<const std::string>();
    if (pending() + response.body->size() > limits_.pending)
      response = refusal(503, "too many requests at once");
    connection.closes = refused != 0 || !head.keep_alive;
    connection.events = response.events && !head.head_only;
    std::string text = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nCache-Control: no-store\r\n"
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' "
        "'unsafe-inline'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; "
        "base-uri 'none'; form-action 'none'\r\n"
        "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\n",
        response.status, reason(response.status), response.type);
    if (response.status == 405) text += "Allow: GET, HEAD\r\n";
    if (!response.events) text += fmt::format("Content-Length: {}\r\n", response.body->size());
    text += connection.closes ? "Connection: close\r\n\r\n" : "\r\n";
    connection.send(std::move(text));
    if (!head.head_only) connection.send(response.body);
    write_to(connection);
  }
}

void HttpServer::write_to(Connection& connection) {
  while (!connection.out.empty()) {
    const std::string& text = *connection.out.front();
    const ssize_t count = ::send(connection.socket.get(), text.data() + connection.written,
                                 text.size() - connection.written, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno != EAGAIN && errno != EINTR) connection.gone = true;
      return;
    }
    connection.since = Clock::now();
    connection.written += static_cast<std::size_t>(count);
    connection.pending -= static_cast<std::size_t>(count);
    if (connection.written < text.size()) return;
    connection.out.pop_front();
    connection.written = 0;
  }
  if (connection.closes) {
    // shutdown, not close: data that the client still sends must not discard the answer
    ::shutdown(connection.socket.get(), SHUT_WR);
    connection.since = Clock::now();
  }
}

bool HttpServer::has_expired(const Connection& connection, Clock::time_point now) const {
  const auto passed = now - connection.since;
  if (!connection.out.empty()) return passed > limits_.stalled;
  if (connection.closes) return passed > std::chrono::seconds(1);
  if (connection.events) return false;
  return passed > (connection.in.empty() ? limits_.idle : limits_.request);
}

void HttpServer::run(const Handler& handler, const std::function<void()>& tick,
                     const std::atomic<bool>& stop) {
  std::vector<pollfd> waiting;
  while (!stop) {
    waiting.assign(1, {listener_.get(), POLLIN, 0});
    for (const Connection& connection : connections_) {
      // a client that sends requests without reading answers has to wait
      const int reads = connection.in.size() <= limits_.head ? POLLIN : 0;
      const int writes = connection.out.empty() ? 0 : POLLOUT;
      waiting.push_back({connection.socket.get(), static_cast<short>(reads | writes), 0});
    }
    const int ready = ::poll(waiting.data(), waiting.size(), kTick.count());
    if (ready > 0) {
      std::size_t i = 1;
      for (Connection& connection : connections_) {
        const short happened = waiting[i++].revents;
        if ((happened & POLLOUT) != 0) {
          write_to(connection);
          answer(connection, handler);
        }
        if ((happened & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(connection, handler);
      }
      if (waiting[0].revents != 0) accept_all();
    }
    const auto now = Clock::now();
    for (Connection& connection : connections_) {
      if (!has_expired(connection, now)) continue;
      connection.gone = true;
      if (!connection.in.empty() && connection.out.empty()) send_refusal(connection.socket, 408);
    }
    std::erase_if(connections_, [](const Connection& connection) { return connection.gone; });
    tick();
  }
}

}  // namespace ovde
