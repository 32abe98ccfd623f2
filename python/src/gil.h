// The interpreter's lock for threads started by C++. A thread keeps its Python state until its end,
// because creating one for every step of an environment would cost more than the step.
#pragma once

#include <pybind11/pybind11.h>

namespace ovde::python {

class Gil {
 public:
  Gil() {
    if (PyGILState_Check() != 0) return;
    static thread_local ThreadState state;
    PyEval_RestoreThread(state.python);
    taken_ = true;
  }
  ~Gil() {
    if (taken_) PyEval_SaveThread();
  }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  struct ThreadState {
    ThreadState() : before(PyGILState_Ensure()), python(PyEval_SaveThread()) {}
    ~ThreadState() {
      PyEval_RestoreThread(python);
      PyGILState_Release(before);
    }
    PyGILState_STATE before;
    PyThreadState* python;
  };
  bool taken_ = false;
};

}  // namespace ovde::python
