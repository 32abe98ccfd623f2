// Studies, reports, comparisons of learning curves of any origin, and stress tests.
#include "bindings.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>
#include <thread>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <ovde/error.h>
#include "convert.h"
#include "job.h"
#include "stats/bootstrap.h"
#include "stats/statistics.h"
#include "stress/stress.h"
#include "study/analyse/comparison.h"
#include "study/analyse/results.h"
#include "study/execute/run_study.h"
#include "study/plan/plan.h"
#include "study/plan/study_record.h"
#include "study/report/report.h"
#include "study/report/tables.h"

namespace ovde::python {

namespace py = pybind11;
namespace fs = std::filesystem;

namespace {

py::tuple as_tuple(const Report& report) {
  return py::make_tuple(report.page.string(), report.remarks);
}

// NaN marks epochs that were not evaluated, or not yet trained.
double score(std::span<const double> curve, const std::string& whose) {
  try {
    return run_score(evaluated_part(curve));
  } catch (const Error& error) {
    throw InputError(fmt::format("a curve of {}: {}", whose, error.what()));
  }
}

// Learning curves of any origin, as the results of a study.
class Contenders {
 public:
  Contenders(std::string title, std::string text) {
    results_.plan.name = "comparison";
    results_.plan.title = std::move(title);
    results_.plan.text = std::move(text);
    results_.plan.measures = {"score"};
    results_.plan.show = {"table", "curves"};
  }

  // Adds one method on one task. Every task must get the same methods. `run`: the folder of the
  // first run; none if the curves come from elsewhere.
  void add(const std::string& task, const std::string& method, bool ours,
           const std::string& algorithm, const std::vector<std::vector<double>>& curves,
           const std::vector<std::uint64_t>& seeds, const std::optional<std::string>& run) {
    Plan& plan = results_.plan;
    if (std::ranges::find(plan.rows, task, &PlanRow::name) == plan.rows.end()) {
      PlanRow row;
      row.name = row.task = task;
      plan.rows.push_back(std::move(row));
    }
    if (std::ranges::find(plan.columns, method, &PlanColumn::name) == plan.columns.end()) {
      PlanColumn column;
      column.name = method;
      column.algorithm = algorithm;
      column.role = ours ? Role::ours : Role::baseline;
      plan.columns.push_back(std::move(column));
    }
    CellResult result;
    result.cell = {.row = task,
                   .column = method,
                   .task = task,
                   .algorithm = algorithm,
                   .imported = !run,
                   .epochs = static_cast<int>(curves.front().size()),
                   .seeds = seeds,
                   .settings = {},
                   .folder = {}};
    if (run) result.asked = asked_of(*run);
    for (std::size_t i = 0; i < curves.size(); ++i) {
      result.runs.push_back({.seed = seeds[i],
                             .score = score(curves[i], fmt::format("{} on {}", method, task)),
                             .returns = curves[i]});
    }
    results_.cells.push_back(std::move(result));
  }

  py::list tests() const {
    py::list all;
    for (const Comparison& test : compare(score_contests(results_))) {
      const auto if_tested = [&](double p) {
        return test.tested() ? std::optional(p) : std::nullopt;
      };
      all.append(py::dict("task"_a = test.row, "ours"_a = test.ours, "baseline"_a = test.baseline,
                          "verdict"_a = name(test.verdict), "mean_ours"_a = test.x,
                          "mean_baseline"_a = test.y, "test"_a = name(test.test),
                          "p"_a = if_tested(test.p), "p_holm"_a = if_tested(test.adjusted),
                          "runs_needed"_a = test.runs_needed));
    }
    return all;
  }

  py::list cells() const {
    py::list all;
    for (const CellResult& cell : results_.cells) {
      const std::vector<double> scores = cell.scores();
      const Interval interval = mean_interval(scores);
      all.append(py::dict("task"_a = cell.cell.row, "method"_a = cell.cell.column,
                          "runs"_a = scores.size(), "mean"_a = interval.estimate,
                          "std"_a = standard_deviation(scores), "low"_a = interval.low,
                          "high"_a = interval.high, "scores"_a = to_array(scores)));
    }
    return all;
  }

  std::string markdown() const {
    return to_markdown(score_table(results_, compare(score_contests(results_))));
  }

  py::tuple report(const std::string& folder) const {
    return as_tuple(write_report(results_, folder));
  }

 private:
  StudyResults results_;
};

int thread_count(int asked) {
  return asked > 0 ? asked : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

class Study {
 public:
  Study(const std::string& file, const std::optional<std::string>& out, bool smoke)
      : plan_(read_plan(file)),
        out_(out.value_or(fmt::format("runs/{}{}", plan_.name, smoke ? "-smoke" : ""))) {
    if (smoke || is_smoke(out_)) plan_ = smoke_plan(std::move(plan_));
  }

  std::string folder() const { return out_.string(); }

  py::dict run(int jobs, int threads, const std::string& device, const py::object& progress) {
    if (is_smoke(out_) && !plan_.smoke)
      throw InputError(fmt::format("{} holds a smoke run; choose another folder", folder()));
    Job job;
    Sink sink(job, progress);
    const StudyRequest request{.plan = plan_,
                               .out = out_,
                               .jobs = jobs,
                               .threads = thread_count(threads),
                               .command = "ovde.study of Python",
                               .stop = &job.stop(),
                               .gpu = device_of(device, "device")};
    StudyOutcome outcome;
    job.run([&] { outcome = run_study(request, sink); });
    py::list failures;
    for (const CellFailure& failure : outcome.failures)
      failures.append(py::make_tuple(failure.row, failure.column, failure.why));
    return py::dict("cells"_a = outcome.cells, "finished"_a = outcome.finished,
                    "stopped"_a = outcome.stopped, "failures"_a = failures);
  }

  py::tuple report() const {
    const StudyResults results = read_results(plan_, out_);
    return py::make_tuple(write_report(results, out_).page.string(), results.notes);
  }

 private:
  class Sink final : public StudySink {
   public:
    Sink(Job& job, const py::object& progress) : job_(job), progress_(progress) {}
    void study_started(const StudyStart& start) override {
      updates_ = start.updates;
      done_ = start.updates_done;
    }
    void warning(const std::string& text) override {
      job_.post([text] {
        if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) throw py::error_already_set();
      });
    }
    void epoch_done(const Cell& cell, double updates) override {
      done_ += updates;
      if (progress_.is_none()) return;
      job_.post([this, row = cell.row, column = cell.column, done = done_] {
        progress_(py::dict("row"_a = row, "column"_a = column, "done"_a = done / updates_));
      });
    }

   private:
    Job& job_;
    const py::object& progress_;
    double updates_ = 1, done_ = 0;
  };

  Plan plan_;
  fs::path out_;
};

// None: stopped before the end.
py::object stress_test(const std::vector<std::string>& runs,
                       const std::vector<std::string>& disturbances,
                       const std::vector<double>& severities, int episodes, std::uint64_t seed,
                       const std::string& against, int threads, const std::string& out,
                       const py::object& progress) {
  StressRequest request;
  request.runs.assign(runs.begin(), runs.end());
  request.disturbances = disturbances;
  request.severities = severities;
  request.episodes = episodes;
  request.seed = seed;
  request.against = against;
  request.out = out;
  Job job;
  StressWork work{.threads = thread_count(threads), .stop = &job.stop()};
  if (!progress.is_none()) {
    work.progress = [&](std::size_t done, std::size_t of) {
      job.post([&progress, done, of] { progress(py::dict("done"_a = done, "of"_a = of)); });
    };
  }
  std::optional<StressReport> report;
  job.run([&] { report = stress(plan_stress(request), work); });
  if (!report) return py::none();
  return py::dict("json"_a = report->json, "text"_a = report->text,
                  "page"_a = report->page.string());
}

}  // namespace

void bind_studies(py::module_& module) {
  py::class_<Contenders>(module, "Contenders")
      .def(py::init<std::string, std::string>(), "title"_a, "text"_a)
      .def("add", &Contenders::add, "task"_a, "method"_a, "ours"_a, "algorithm"_a, "curves"_a,
           "seeds"_a, "run"_a)
      .def("tests", &Contenders::tests)
      .def("cells", &Contenders::cells)
      .def("markdown", &Contenders::markdown)
      .def("report", &Contenders::report, "folder"_a);
  py::class_<Study>(module, "Study")
      .def(py::init<std::string, std::optional<std::string>, bool>(), "file"_a, "out"_a, "smoke"_a)
      .def_property_readonly("folder", &Study::folder)
      .def("run", &Study::run, "jobs"_a, "threads"_a, "device"_a, "progress"_a)
      .def("report", &Study::report);
  module.def("stress", &stress_test, "runs"_a, "disturbances"_a, "severities"_a, "episodes"_a,
             "seed"_a, "against"_a, "threads"_a, "out"_a, "progress"_a);
  module.def(
      "report_of_run",
      [](const std::string& run, const std::string& out) {
        return as_tuple(write_report(results_of_run(run), out));
      },
      "run"_a, "out"_a);
}

}  // namespace ovde::python
