// The data that the live page gets about runs.
#include "serve/live_page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "run/run_folder.h"
#include "run/run_lock.h"
#include "serve/run_watch.h"
#include "serve/written_run.h"
#include "temporary_folder.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;
using nlohmann::json;

json told(LivePage& page, const std::string& path, const std::string& query = "") {
  const HttpResponse response = page.answer({.path = path, .query = query});
  EXPECT_EQ(response.status, 200) << path << " " << *response.body;
  return json::parse(*response.body);
}

json state_of(LivePage& page) {
  const HttpResponse response = page.answer({.path = "/events", .query = ""});
  EXPECT_TRUE(response.events);
  const std::string text = *response.body, mark = "data: ";
  return json::parse(text.substr(text.find(mark) + mark.size()));
}

TEST(LivePage, ListsTheRunsBelowItsFolders) {
  const TemporaryFolder folder;
  write_run(folder.path() / "a", 3);
  write_run(folder.path() / "study/row/column/seed_1", 5, 1);
  LivePage page({.folders = {folder.path()}});
  const json state = state_of(page);
  ASSERT_EQ(state["runs"].size(), 2U);
  EXPECT_EQ(state["runs"][0]["name"], "a");
  EXPECT_EQ(state["runs"][0]["epoch"], 3);
  EXPECT_EQ(state["runs"][0]["return"], 5.0);
  EXPECT_EQ(state["runs"][0]["state"], "interrupted");
  EXPECT_EQ(state["runs"][1]["name"], "study/row/column/seed_1");
  EXPECT_EQ(state["runs"][1]["seed"], "1");
  EXPECT_EQ(state["plan"], nullptr);
}

TEST(LivePage, RowsContinueFromTheLastRequest) {
  const TemporaryFolder folder;
  write_run(folder.path(), 10);
  LivePage page({.folders = {folder.path()}});
  state_of(page);
  const json rows = told(page, "/run/rows", "id=0&from=7");
  EXPECT_EQ(rows["count"], 10);
  EXPECT_EQ(rows["columns"]["epoch"], json({7, 8, 9}));
  EXPECT_EQ(rows["columns"]["eval_return_mean"], json({17.5, 20, 22.5}));
  EXPECT_EQ(rows["columns"]["epistemic"], json({nullptr, nullptr, nullptr}));
  EXPECT_EQ(told(page, "/run/rows", "id=0&from=99")["columns"]["epoch"], json::array());
}

// Long curves are thinned out, and later rows keep the spacing.
TEST(LivePage, LongRunsAreThinnedOut) {
  const TemporaryFolder folder;
  write_run(folder.path(), 5000);
  LivePage page({.folders = {folder.path()}});
  state_of(page);
  const json rows = told(page, "/run/rows", "id=0");
  EXPECT_EQ(rows["every"], 3);
  EXPECT_EQ(rows["columns"]["epoch"].size(), 1666U);
  const json more = told(page, "/run/rows", "id=0&from=4000&every=3");
  EXPECT_EQ(more["columns"]["epoch"][0], 4001);
  for (const json& epoch : rows["columns"]["epoch"]) EXPECT_EQ(epoch.get<int>() % 3, 2);
}

TEST(LivePage, ListsFiveHundredRuns) {
  const TemporaryFolder folder;
  for (int i = 0; i < 500; ++i)
    write_run(folder.path() / fmt::format("group_{}/seed_{}", i / 10, i % 10), 20, i % 10);
  LivePage page({.folders = {folder.path()}});
  page.news();  // what the server does when it starts
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(state_of(page)["runs"].size(), 500U);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(300));
}

TEST(LivePage, ServesOnlyFilesOfItsRuns) {
  const TemporaryFolder folder;
  write_run(folder.path() / "run", 1);
  write_file_atomically(folder.path() / "secret.txt", std::string("secret"));
  write_file_atomically(folder.path() / "run/log.txt", std::string("a line\n"));
  LivePage page({.folders = {folder.path()}});
  state_of(page);
  EXPECT_EQ(*page.answer({.path = "/run/log", .query = "id=0"}).body, "a line\n");
  EXPECT_NE(page.answer({.path = "/run/config", .query = "id=0"}).body->find("GridChaos"),
            std::string::npos);
  for (const char* path :
       {"/secret.txt", "/../secret.txt", "/run/../secret.txt", "/run/secret.txt", "//etc/passwd",
        "/etc/passwd", "/run/log/../../secret.txt", "/run/", "/live.html", "/web/live.js"})
    EXPECT_EQ(page.answer({.path = path, .query = "id=0"}).status, 404) << path;
  for (const char* query :
       {"", "id=1", "id=-1", "id=99999999999999999999", "id=../../secret.txt", "id=0x0", "ID=0"})
    EXPECT_EQ(page.answer({.path = "/run/log", .query = query}).status, 404) << query;
  EXPECT_EQ(page.answer({.path = "/run/recording", .query = "id=0&number=0"}).status, 404);
}

TEST(LivePage, PlannedCellsAreListedBeforeTheyStart) {
  const TemporaryFolder folder;
  const Plan plan = parse_plan(R"toml(
title = "Two by one"
epochs = 3
seeds = "0-1"
[[row]]
name = "s"
task = "GridChaos-v0:s"
[[column]]
name = "DSAC"
algorithm = "dsac"
[[column]]
name = "ours"
algorithm = "ovde_g"
)toml",
                               "two.toml");
  LivePage page({.folders = {folder.path()}, .plan = plan});
  const json state = state_of(page);
  EXPECT_EQ(state["plan"]["columns"], json({"DSAC", "ours"}));
  ASSERT_EQ(state["plan"]["cells"].size(), 2U);
  EXPECT_EQ(state["plan"]["cells"][0]["runs"], 2);
  EXPECT_TRUE(state["runs"].empty());
}

TEST(LivePage, TheMapShowsTheVisits) {
  const TemporaryFolder folder;
  write_run(folder.path(), 1);
  const std::vector<float> places = {0.1F, 0.1F, 0.2F, 0.2F, -9.9F, -9.9F};
  write_file_atomically(folder.path() / "visits.f32", std::as_bytes(std::span(places)));
  LivePage page({.folders = {folder.path()}});
  EXPECT_EQ(state_of(page)["runs"][0]["map"], true);
  const json map = told(page, "/run/visits", "id=0");
  EXPECT_EQ(map["steps"], 3);
  EXPECT_EQ(map["visits"][0], 1);
  EXPECT_EQ(map["visits"][20 * 40 + 20], 2);
  EXPECT_EQ(map["noise"][0], 0.5);
}

TEST(RunWatch, ReportsOnlyChanges) {
  const TemporaryFolder folder;
  write_run(folder.path() / "a", 2);
  write_run(folder.path() / "b", 2);
  RunWatch watch({folder.path()});
  EXPECT_EQ(watch.look(true), (std::vector<int>{0, 1}));
  EXPECT_EQ(watch.look(true), std::vector<int>{});
  append(folder.path() / "b", csv_row(row(2)) + "\n");
  EXPECT_EQ(watch.look(false), std::vector<int>{1});
  EXPECT_EQ(watch.runs()[1].status.epochs_done, 3);
  write_run(folder.path() / "c", 1);
  EXPECT_EQ(watch.look(false), std::vector<int>{});
  EXPECT_EQ(watch.look(true), std::vector<int>{2});
  fs::remove_all(folder.path() / "a");
  EXPECT_EQ(watch.look(true), std::vector<int>{0});
  EXPECT_FALSE(watch.runs()[0].there);
  EXPECT_EQ(watch.look(true), std::vector<int>{});
}

TEST(RunWatch, SeesARunStartAndDie) {
  const TemporaryFolder folder;
  write_run(folder.path(), 1);
  RunWatch watch({folder.path()});
  watch.look(true);
  EXPECT_EQ(watch.runs()[0].status.state, RunState::interrupted);
  {
    const RunLock lock(folder.path());
    EXPECT_EQ(watch.look(false), std::vector<int>{0});
    EXPECT_EQ(watch.runs()[0].status.state, RunState::training);
  }
  EXPECT_EQ(watch.look(false), std::vector<int>{0});
  EXPECT_EQ(watch.runs()[0].status.state, RunState::interrupted);
}

TEST(RunWatch, WaitsForAMissingFolder) {
  const TemporaryFolder folder;
  RunWatch watch({folder.path() / "later"});
  EXPECT_TRUE(watch.look(true).empty());
  write_run(folder.path() / "later/run", 1);
  EXPECT_EQ(watch.look(true), std::vector<int>{0});
}

TEST(RunWatch, UnreadableRunsSayWhy) {
  const TemporaryFolder folder;
  write_run(folder.path() / "bad", 1);
  write_file_atomically(folder.path() / "bad/config.toml", std::string("no = such key"));
  write_run(folder.path() / "good", 1);
  RunWatch watch({folder.path()});
  watch.look(true);
  EXPECT_EQ(watch.runs()[0].status.state, RunState::unreadable);
  EXPECT_NE(watch.runs()[0].status.message, "");
  EXPECT_EQ(watch.runs()[1].status.state, RunState::interrupted);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
