#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include <ovde/error.h>
#include "run/progress_csv.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(ProgressCsv, RowsHaveTheColumnsOfTheContract) {
  EXPECT_EQ(csv_header(),
            "epoch,env_steps,updates,eval_return_mean,eval_return_std,eval_length_mean,explore_"
            "return_mean,"
            "explore_episodes,critic_loss,actor_loss,temperature,q_mean,epistemic,aleatoric,m,"
            "shift,steps_per_second,"
            "eval_success,explore_success,seconds,eval_episodes,shift_std,shift_kl,shift_cosine");
  EpochRow row;
  row.epoch = 3;
  row.env_steps = 1400;
  row.updates = 400;
  row.eval_return_mean = 1;
  row.eval_return_std = 2;
  row.eval_length_mean = 3;
  row.explore_return_mean = 4;
  row.explore_episodes = 5;
  double next = 6;
  for (double EpochRow::*member :
       {&EpochRow::critic_loss, &EpochRow::actor_loss, &EpochRow::temperature, &EpochRow::q_mean,
        &EpochRow::epistemic, &EpochRow::aleatoric, &EpochRow::m, &EpochRow::shift,
        &EpochRow::steps_per_second, &EpochRow::eval_success, &EpochRow::explore_success,
        &EpochRow::seconds, &EpochRow::eval_episodes, &EpochRow::shift_std, &EpochRow::shift_kl,
        &EpochRow::shift_cosine}) {
    row.*member = next++;
  }
  EXPECT_EQ(csv_row(row), "3,1400,400,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21");
}

TEST(ProgressCsv, NumbersReadBackAndNanIsAnEmptyCell) {
  EpochRow row;
  row.eval_return_mean = 0.1 + 0.2;
  EXPECT_EQ(csv_row(row), "0,0,0,0.30000000000000004,,,,0,,,,,,,,,,,,0,,,,");
}

TEST(ProgressCsv, AppendedRowsAreVisibleAtOnce) {
  const TemporaryFolder folder;
  ProgressFile file(folder.path(), {});
  file.append({});
  file.append({.epoch = 1});
  const std::string text = read_file(folder.path() / "progress.csv");
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_EQ(text.substr(0, 6), "epoch,");
}

TEST(ProgressCsv, ReadsBackWhatItWrote) {
  std::vector<EpochRow> rows(3);
  for (int i = 0; i < 3; ++i) {
    rows[i].epoch = i;
    rows[i].env_steps = std::int64_t{1} << (50 + i);
    rows[i].explore_episodes = 7;
    rows[i].eval_return_mean = -1.0 / (i + 3);
    rows[i].seconds = 1e-300;
  }
  const TemporaryFolder folder;
  const ProgressFile file(folder.path(), rows);
  const auto read = read_progress(folder.path());
  ASSERT_EQ(read.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(csv_row(read[i]), csv_row(rows[i]));
}

TEST(ProgressCsv, TermsOfTheRewardAreColumnsAtTheEnd) {
  const std::vector<std::string> terms = {"speed", "effort"};
  std::vector<EpochRow> rows(2);
  rows[0].reward_terms = {1.5, -0.25};
  rows[1].epoch = 1;  // not evaluated
  const TemporaryFolder folder;
  const ProgressFile file(folder.path(), rows, terms);
  EXPECT_TRUE(csv_header(terms).ends_with(",shift_cosine,reward_speed,reward_effort"));
  ProgressReader reader{Folder(folder.path())};
  EXPECT_TRUE(reader.look());
  EXPECT_EQ(reader.terms(), terms);
  EXPECT_EQ(reader.rows()[0].reward_terms, rows[0].reward_terms);
  ASSERT_EQ(reader.rows()[1].reward_terms.size(), 2u);
  EXPECT_TRUE(std::isnan(reader.rows()[1].reward_terms[0]));
  EXPECT_THROW(parse_progress(csv_header() + ",other\n", "x"), InputError);
}

// The file of an earlier version, without the last three columns.
TEST(ProgressCsv, RowsOfEarlierVersionsAreRead) {
  const std::string header = csv_header(), end = ",shift_std,shift_kl,shift_cosine";
  const std::string old =
      header.substr(0, header.size() - end.size()) +
      "\n0,2000,1000,1.5,,,,0,,,,,,,,,,,,7,3\n1,3000,2000,2.5,,,,0,,,,,,,,,,,,8,3\n";
  const auto rows = parse_progress(old, "x");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].eval_return_mean, 2.5);
  EXPECT_EQ(rows[1].eval_episodes, 3);
  EXPECT_TRUE(std::isnan(rows[1].shift_std));
  EXPECT_THROW(parse_progress(old + "2,4000,3000,2.5,,,,0,,,,,,,,,,,,8,3,,,\n", "x"), InputError);

  const TemporaryFolder folder;
  write_file_atomically(folder.path() / kProgressFile, old);
  ProgressReader reader(folder.path());
  EXPECT_TRUE(reader.look());
  std::ofstream(folder.path() / kProgressFile, std::ios::app)
      << "2,4000,3000,3.5,,,,0,,,,,,,,,,,,9,3\n";
  EXPECT_TRUE(reader.look());
  ASSERT_EQ(reader.rows().size(), 3u);
  EXPECT_EQ(reader.rows()[2].eval_return_mean, 3.5);
}

// A checkpoint of an earlier version ends after the first columns of its rows.
TEST(EpochRows, RowsOfEarlierCheckpointsAreRead) {
  std::vector<EpochRow> rows(2);
  rows[1].epoch = 1;
  rows[1].q_mean = 7;
  rows[1].eval_episodes = 4;
  rows[1].shift_kl = 0.5;
  Bytes bytes = save_with([&](Archive& archive) { archive_rows(archive, rows); });
  for (const bool earlier : {false, true}) {
    if (earlier) bytes.resize(bytes.size() - 2 * 3 * sizeof(double));
    std::vector<EpochRow> read(2);
    read[0].shift_kl = 1;
    restore_with(bytes, [&](Archive& archive) { archive_rows(archive, read); });
    EXPECT_EQ(read[1].epoch, 1);
    EXPECT_EQ(read[1].q_mean, 7);
    EXPECT_EQ(read[1].eval_episodes, 4);
    EXPECT_EQ(std::isnan(read[1].shift_kl), earlier);
    EXPECT_TRUE(std::isnan(read[0].shift_kl));
  }
}

TEST(ProgressCsv, IncompleteLastRowIsIgnored) {
  const std::string row = csv_row({});
  EXPECT_EQ(parse_progress(csv_header() + "\n" + row + "\n" + row.substr(0, 9), "x").size(), 1u);
  EXPECT_THROW(parse_progress(csv_header() + "\nnot,a,row\n", "x"), InputError);
  EXPECT_THROW(parse_progress("a,b\n1,2\n", "x"), InputError);
}

TEST(ProgressCsv, AFileWithoutAHeaderIsNamedAsSuch) {
  const auto refusal = [](const std::string& text) {
    return message_of([&] { parse_progress(text, "x"); });
  };
  EXPECT_EQ(refusal(""), "x: not the progress of a run: it is empty");
  EXPECT_EQ(refusal(csv_header()), "x: not the progress of a run: its header is not a whole line");
  EXPECT_EQ(refusal("a,b\n1,2\n"), "x: not the progress of a run: its columns differ");

  const TemporaryFolder folder;
  write_file_atomically(folder.path() / kProgressFile, std::string());
  expect_words(message_of([&] { read_progress(folder.path()); }),
               {"progress.csv: not the progress of a run: it is empty; resuming the run writes"});
}

TEST(ProgressCsv, ARowHasAsManyCellsAsTheHeader) {
  const std::string row = csv_row({.eval_return_mean = 1});
  for (std::size_t at = row.find(','); at != std::string::npos; at = row.find(',', at + 1))
    EXPECT_THROW(parse_progress(csv_header() + "\n" + row.substr(0, at) + "\n", "x"), InputError);
  EXPECT_THROW(parse_progress(csv_header() + "\n" + row + ",\n", "x"), InputError);
}

TEST(ProgressCsv, RefusesRowsOutOfOrder) {
  const auto complaint = [](const std::vector<EpochRow>& rows) {
    std::string text = csv_header() + "\n";
    for (const EpochRow& row : rows) text += csv_row(row) + "\n";
    return message_of([&] { parse_progress(text, "x"); });
  };
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(complaint({{.epoch = 0}, {.epoch = 1}}), "");
  EXPECT_EQ(complaint({{.epoch = 0}, {.epoch = 0}, {.epoch = 2}}), "x:3: is epoch 0, not 1");
  EXPECT_EQ(complaint({{.epoch = 1}}), "x:2: is epoch 1, not 0");
  EXPECT_EQ(complaint({{.epoch = 0, .env_steps = 9}, {.epoch = 1, .env_steps = 8}}),
            "x:3: has fewer environment steps than the row before it");
  EXPECT_EQ(complaint({{.eval_return_mean = infinity}}), "x:2: not a row");
}

TEST(ProgressCsv, OpeningDropsLaterRows) {
  const TemporaryFolder folder;
  const std::vector<EpochRow> rows = {{.epoch = 0}, {.epoch = 1}, {.epoch = 2}};
  { const ProgressFile file(folder.path(), rows); }
  ProgressFile file(folder.path(), std::span(rows).first(1));
  file.append({.epoch = 1, .env_steps = 5});
  const auto read = read_progress(folder.path());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].env_steps, 5);
}

// A file that is followed: the rows are at every moment those of a reader who begins anew.
class Followed {
 public:
  void write(const std::string& text, bool append) {
    std::ofstream(folder_.path() / "progress.csv", append ? std::ios::app : std::ios::trunc)
        << text;
  }
  bool look() { return reader_.look(); }
  std::vector<int> epochs() const {
    std::vector<int> out;
    for (const EpochRow& row : reader_.rows()) out.push_back(row.epoch);
    return out;
  }
  std::string row(int epoch, double value = 0) const {
    EpochRow row;
    row.epoch = epoch;
    row.q_mean = value;
    return csv_row(row) + "\n";
  }
  double last() const { return reader_.rows().back().q_mean; }

 private:
  TemporaryFolder folder_;
  ProgressReader reader_{folder_.path()};
};

TEST(ProgressReader, FollowsAGrowingFile) {
  Followed file;
  EXPECT_FALSE(file.look());
  file.write(csv_header() + "\n", false);
  file.look();
  EXPECT_EQ(file.epochs(), std::vector<int>{});
  file.write(file.row(0) + file.row(1), true);
  EXPECT_TRUE(file.look());
  EXPECT_FALSE(file.look());
  const std::string next = file.row(2);
  file.write(next.substr(0, 5), true);  // half a row
  EXPECT_FALSE(file.look());
  EXPECT_EQ(file.epochs(), (std::vector{0, 1}));
  file.write(next.substr(5), true);
  EXPECT_TRUE(file.look());
  EXPECT_EQ(file.epochs(), (std::vector{0, 1, 2}));
}

TEST(ProgressReader, StartsOverWhenTheFileWasRewritten) {
  Followed file;
  file.write(csv_header() + "\n" + file.row(0) + file.row(1, 7) + file.row(2, 7), false);
  EXPECT_TRUE(file.look());
  // to a checkpoint, and beyond where it was
  file.write(csv_header() + "\n" + file.row(0) + file.row(1, 8) + file.row(2, 8) + file.row(3, 8),
             false);
  EXPECT_TRUE(file.look());
  EXPECT_EQ(file.epochs(), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(file.last(), 8);
  file.write(csv_header() + "\n" + file.row(0), false);
  EXPECT_TRUE(file.look());
  EXPECT_EQ(file.epochs(), std::vector{0});
}

TEST(ProgressReader, RefusesInvalidRowsAndSaysWhatToDo) {
  const TemporaryFolder folder;
  const auto refusal = [&] { return message_of([&] { read_progress(folder.path()); }); };
  { const ProgressFile file(folder.path(), std::vector<EpochRow>(1)); }
  EXPECT_EQ(refusal(), "");
  const std::string name = (folder.path() / kProgressFile).string();
  std::ofstream(name, std::ios::app) << "nonsense\n";
  EXPECT_EQ(refusal(), name + ":3: not a row; resuming the run writes the file again");
  std::ofstream(folder.path() / "summary.json") << "{}";
  EXPECT_EQ(refusal(), name +
                           ":3: not a row; to write the file again, remove summary.json beside it "
                           "and resume the run");
}

// A process cannot read the beginning of its memory.
TEST(ProgressReader, AReadErrorIsNotTheEndOfTheFile) {
  const TemporaryFolder folder;
  const fs::path name = folder.path() / kProgressFile;
  fs::create_symlink("/proc/self/mem", name);
  const std::string message = message_of([&] { read_progress(folder.path()); });
  EXPECT_TRUE(message.starts_with("cannot read " + name.string() + ": Input")) << message;
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
