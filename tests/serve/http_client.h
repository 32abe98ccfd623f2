// A client that sends given bytes, one by one if asked to.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "serve/http_server.h"

namespace ovde {

class HttpClient {
 public:
  explicit HttpClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error("cannot connect");
  }

  // false: the server has hung up.
  bool send(std::string_view text) const {
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }

  // What comes until the server hangs up, `enough` is among it, or so much time has passed.
  std::string read(std::string_view enough = {}, int milliseconds = 10'000) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    std::string all;
    while (std::chrono::steady_clock::now() < end) {
      pollfd ready = {socket_.get(), POLLIN, 0};
      if (::poll(&ready, 1, 50) <= 0) continue;
      char bytes[65536];
      const ssize_t count = ::recv(socket_.get(), bytes, sizeof bytes, 0);
      if (count <= 0) return all;
      all.append(bytes, static_cast<std::size_t>(count));
      if (!enough.empty() && all.find(enough) != std::string::npos) return all;
    }
    return all;
  }

  // Whether the server hangs up within that time.
  bool is_dropped(int milliseconds) const {
    const auto begun = std::chrono::steady_clock::now();
    read({}, milliseconds);
    return std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(milliseconds);
  }

 private:
  Descriptor socket_;
};

inline std::string get(const std::string& target, const std::string& host = "127.0.0.1") {
  return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
}

inline std::string ask(int port, const std::string& request) {
  const HttpClient client(port);
  client.send(request);
  return client.read();
}

// "HTTP/1.1 404 Not Found" -> 404; 0: no answer.
inline int status_of(const std::string& answer) {
  return answer.size() > 12 && answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
}
inline std::string body_of(const std::string& answer) {
  const auto at = answer.find("\r\n\r\n");
  return at == std::string::npos ? "" : answer.substr(at + 4);
}

}  // namespace ovde
