// The server against clients that mean well, are slow, or mean harm.
#include "serve/http_server.h"

#include <atomic>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include <ovde/error.h>
#include "serve/http_client.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using std::chrono::milliseconds;

// Greets at "/", streams at "/events", has much to say at "/long"; runs until its scope ends.
class Running {
 public:
  explicit Running(const HttpLimits& limits = {}) : server_("127.0.0.1", 0, limits) {
    thread_ = std::thread([this] {
      server_.run([](const HttpRequest& request) { return answer(request); },
                  [this] {
                    if (publishes_.exchange(false)) server_.publish("news", "\"much\"");
                    viewers_ = server_.viewers();
                  },
                  stop_);
    });
  }
  ~Running() {
    stop_ = true;
    thread_.join();
  }
  int port() const { return server_.port(); }
  void publish() { publishes_ = true; }
  bool wait_for_viewers(std::size_t count) const {
    for (int i = 0; i < 200 && viewers_ != count; ++i)
      std::this_thread::sleep_for(milliseconds(25));
    return viewers_ == count;
  }

 private:
  static HttpResponse answer(const HttpRequest& request) {
    const auto body = [](std::string text) {
      return std::make_shared<const std::string>(std::move(text));
    };
    if (request.path == "/") return {.body = body("hello " + request.query)};
    if (request.path == "/long") return {.body = body(std::string(40 << 20, 'x'))};
    if (request.path == "/events")
      return {
          .type = "text/event-stream", .body = body("event: first\ndata: 1\n\n"), .events = true};
    if (request.path == "/throws") throw std::runtime_error("the disk is gone");
    return refusal(404, "no such page");
  }

  HttpServer server_;
  std::thread thread_;
  std::atomic<bool> stop_ = false, publishes_ = false;
  std::atomic<std::size_t> viewers_ = 0;
};

TEST(HttpServer, AnswersGetAndHead) {
  const Running server;
  const std::string page = ask(server.port(), get("/?a=1"));
  EXPECT_EQ(status_of(page), 200);
  EXPECT_EQ(body_of(page), "hello a=1");
  expect_words(page, {"Content-Length: 9\r\n", "default-src 'none'"});
  const std::string head =
      ask(server.port(), "HEAD /?a=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_of(head), 403);  // the name of another host
  EXPECT_EQ(body_of(ask(server.port(),
                        "HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")),
            "");
  EXPECT_EQ(status_of(ask(server.port(), get("/nothing"))), 404);
}

TEST(HttpServer, ExceptionsBecomeStatus500) {
  const Running server;
  const std::string answer = ask(server.port(), get("/throws"));
  EXPECT_EQ(status_of(answer), 500);
  EXPECT_EQ(body_of(answer), "the disk is gone\n");
  EXPECT_EQ(status_of(ask(server.port(), get("/"))), 200);
}

TEST(HttpServer, AConnectionServesSeveralRequests) {
  const Running server;
  const HttpClient client(server.port());
  client.send(
      "GET /?1 HTTP/1.1\r\nHost: localhost\r\n\r\nGET /?2 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(client.read("hello 2").find("hello 1"), std::string::npos);
  client.send(get("/?3"));
  EXPECT_EQ(body_of(client.read()), "hello 3");
}

// Each is refused with its own status, and the server continues.
TEST(HttpServer, RefusesMalformedRequests) {
  const Running server;
  const std::string host = "Host: localhost\r\n";
  const std::vector<std::pair<std::string, int>> requests = {
      {"POST / HTTP/1.1\r\n" + host + "\r\n", 405},
      {"DELETE / HTTP/1.1\r\n" + host + "\r\n", 405},
      {"GET / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello", 413},
      {"GET / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + host + "\r\n", 400},
      {"GET / HTTP/2.0\r\n" + host + "\r\n", 505},
      {"GET http://localhost/ HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /%zz HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /%00 HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "no colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "A: b\r\n folded\r\n\r\n", 400},
      {std::string("GET / HTTP/1.1\r\n") + host + std::string("A: b\0c\r\n\r\n", 10), 400},
      {std::string("GET / HTTP/1.1\r\n") + host + std::string("A\0: b\r\n\r\n", 9), 400},
      {"GET / HTTP/1.1\r\n" + host + "A\x7f: b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "A: b\x7f\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "A: b\nC: d\r\n\r\n", 400},
      {std::string("GET\0 / HTTP/1.1\r\n", 17) + host + "\r\n", 400},
      {std::string("GET /?a\0b HTTP/1.1\r\n", 21) + host + "\r\n", 400},
      {"GET /?a b HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /?a\x7f HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /" + std::string(2000, 'a') + " HTTP/1.1\r\n" + host + "\r\n", 414},
      {"GET / HTTP/1.1\r\n" + host + "A: " + std::string(9000, 'a') + "\r\n\r\n", 431},
      {"GET / HTTP/1.1\r\n" + host + "A: " + std::string(200'000, 'a'), 431},
      {"\r\n\r\n", 400},
      {"\x16\x03\x01\x02\r\n\r\n", 400},
      {"GET\r\n\r\n", 400}};
  for (const auto& [request, status] : requests) {
    EXPECT_EQ(status_of(ask(server.port(), request)), status) << request.substr(0, 60);
  }
  EXPECT_EQ(status_of(ask(server.port(), get("/"))), 200);
}

// A page of another name that was made to lead here must not be able to read anything.
TEST(HttpServer, RefusesOtherHostNames) {
  const Running server;
  for (const char* host : {"localhost", "localhost:7575", "127.0.0.1", "127.0.0.1:80", "[::1]:7575",
                           "10.1.2.3:7575", "LOCALHOST"})
    EXPECT_EQ(status_of(ask(server.port(), get("/", host))), 200) << host;
  for (const char* host : {"evil.example", "evil.example:7575", "localhost.evil.example", "",
                           "127.0.0.1.evil.example", "localhost:x", "[::1", "@localhost"})
    EXPECT_EQ(status_of(ask(server.port(), get("/", host))), 403) << host;
  // where others can reach it, the machine's own name is one of its names
  EXPECT_FALSE(is_allowed_host("node7", true, "node7"));
  EXPECT_TRUE(is_allowed_host("node7:7575", false, "node7"));
  EXPECT_FALSE(is_allowed_host("node8", false, "node7"));
}

// Clients that send a byte now and then fill every slot, and are dropped; one that means well is
// served as soon as they are.
TEST(HttpServer, SlowClientsAreDropped) {
  HttpLimits limits;
  limits.connections = 8;
  limits.request = milliseconds(600);
  const Running server(limits);
  std::vector<HttpClient> slow;
  for (int i = 0; i < 8; ++i) slow.emplace_back(server.port());
  for (const HttpClient& client : slow) client.send("GET / HTTP/1.1\r\n");
  const auto begun = std::chrono::steady_clock::now();
  int status = 0;
  while (status != 200 && std::chrono::steady_clock::now() - begun < std::chrono::seconds(20)) {
    for (const HttpClient& client : slow) client.send("X");
    std::this_thread::sleep_for(milliseconds(50));
    status = status_of(ask(server.port(), get("/")));
  }
  EXPECT_EQ(status, 200);
  for (const HttpClient& client : slow) EXPECT_TRUE(client.is_dropped(5000));
}

TEST(HttpServer, StalledClientsAreDropped) {
  HttpLimits limits;
  limits.stalled = milliseconds(500);
  const Running server(limits);
  const HttpClient client(server.port());
  client.send(get("/long"));
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_LT(client.read().size(), 40U << 20);
}

// Two answers are within the limit of unsent bytes; a third request is refused.
TEST(HttpServer, PendingBytesAreLimited) {
  HttpLimits limits;
  limits.pending = 100 << 20;
  const Running server(limits);
  const HttpClient first(server.port()), second(server.port());
  first.send(get("/long"));
  second.send(get("/long"));
  EXPECT_NE(first.read("200 OK").find("200 OK"), std::string::npos);
  EXPECT_NE(second.read("200 OK").find("200 OK"), std::string::npos);
  EXPECT_EQ(status_of(ask(server.port(), get("/long"))), 503);
  EXPECT_GT(first.read().size(), 39U << 20);
}

TEST(HttpServer, TooManyConnectionsAreRefused) {
  HttpLimits limits;
  limits.connections = 3;
  const Running server(limits);
  std::vector<HttpClient> idle;
  for (int i = 0; i < 3; ++i) idle.emplace_back(server.port());
  for (const HttpClient& client : idle) client.send("G");
  EXPECT_EQ(status_of(ask(server.port(), get("/"))), 503);
}

TEST(HttpServer, EventsReachEveryViewerUpToTheLimit) {
  HttpLimits limits;
  limits.viewers = 2;
  Running server(limits);
  const HttpClient a(server.port()), b(server.port());
  a.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  b.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(a.read("data: 1\n\n").find("text/event-stream"), std::string::npos);
  EXPECT_NE(b.read("data: 1\n\n"), "");
  EXPECT_EQ(status_of(ask(server.port(), get("/events"))), 503);
  server.publish();
  EXPECT_EQ(a.read("much"), "event: news\ndata: \"much\"\n\n");
  EXPECT_EQ(b.read("much"), "event: news\ndata: \"much\"\n\n");
}

TEST(HttpServer, ALeavingViewerFreesItsPlace) {
  HttpLimits limits;
  limits.viewers = 1;
  const Running server(limits);
  {
    const HttpClient viewer(server.port());
    viewer.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ASSERT_TRUE(server.wait_for_viewers(1));
  }
  EXPECT_TRUE(server.wait_for_viewers(0));
}

TEST(HttpServer, QueryNumbersAreParsed) {
  const HttpRequest request = {.path = "/", .query = "id=12&identity=7&from=-3&x=1e3&y=&z=5a"};
  EXPECT_EQ(request.number("id"), 12);
  EXPECT_EQ(request.number("from"), -3);
  for (const char* name : {"x", "y", "z", "i", "dent"})
    EXPECT_EQ(request.number(name), std::nullopt);
}

TEST(HttpServer, ATakenPortIsRefused) {
  const HttpServer first("127.0.0.1", 0);
  EXPECT_THROW(HttpServer("127.0.0.1", first.port()), InputError);
  EXPECT_THROW(HttpServer("example.org", 0), InputError);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
