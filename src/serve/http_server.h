// A small HTTP/1.1 server for read-only pages: GET and HEAD, no bodies, event streams. One thread
// serves all connections with poll, and every connection has a deadline, so that slow or idle
// clients cannot block it. (A server with a thread for each connection and a timeout for each read,
// such as cpp-httplib, is blocked by a few clients that send a byte now and then.) Knows nothing of
// the pages.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/files.h"

namespace ovde {

struct HttpRequest {
  std::string path;   // decoded: "/api/run"
  std::string query;  // as sent: "id=3&from=20"
  // A value of the query, as sent; nullopt: it is not there, or not a number.
  std::optional<std::string_view> text(std::string_view name) const;
  std::optional<std::int64_t> number(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body = {};
  bool events = false;  // an event stream: stays open, and publish() adds to `body`
};
HttpResponse refusal(int status, const std::string& why);

struct HttpLimits {
  std::size_t connections = 256;
  std::size_t viewers = 100;                  // event streams among them
  std::size_t head = 8192;                    // bytes of a request
  std::size_t pending = 64 << 20;             // unsent bytes of all clients together
  std::size_t pending_events = 4 << 20;       // unsent bytes of one event stream
  std::chrono::milliseconds request{10'000};  // until a request is complete
  std::chrono::milliseconds idle{60'000};     // until the next one begins
  std::chrono::milliseconds stalled{30'000};  // without the client reading a byte
};

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // Listens; port 0: any free port. InputError if it cannot listen at the address.
  HttpServer(const std::string& address, int port, const HttpLimits& limits = {});
  ~HttpServer();

  int port() const { return port_; }
  std::size_t viewers() const;

  // Serves until `stop`. `tick` is called between requests, at least four times a second.
  void run(const Handler& handler, const std::function<void()>& tick,
           const std::atomic<bool>& stop);

  // Sends "event: NAME\ndata: DATA\n\n" to every event stream; data is one line.
  void publish(const std::string& name, const std::string& data);

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection;

  void accept_all();
  void read_from(Connection& connection, const Handler& handler);
  void answer(Connection& connection, const Handler& handler);
  void write_to(Connection& connection);
  bool has_expired(const Connection& connection, Clock::time_point now) const;
  std::size_t pending() const;

  HttpLimits limits_;
  bool only_local_;  // listens on the loopback interface
  std::string host_name_;
  int port_ = 0;
  Descriptor listener_;
  std::list<Connection> connections_;
};

// Whether a Host header is accepted: an address or "localhost", with or without a port, and the
// machine's name unless only local clients are served. Other names may be DNS rebinding.
bool is_allowed_host(std::string_view host, bool only_local, std::string_view host_name);

// Parses a request's head, up to and including the empty line, into `out`. The status of a refusal;
// 0 if it is valid.
struct ParsedHead {
  HttpRequest request;
  std::string host;
  bool head_only = false, keep_alive = true;
};
int parse_head(std::string_view head, ParsedHead& out);

}  // namespace ovde
