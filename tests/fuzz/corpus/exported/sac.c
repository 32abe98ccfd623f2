// A trained policy, as C99 that is C++ too. It needs <math.h> alone, allocates nothing,
// keeps nothing between calls, and may be called by several threads at once.
//
//   task       GridChaos-v0:e: cross a noisy square to a goal in its corner; sparse reward 100
//   algorithm  sac, seed 0, 1 epochs
//   networks   1, with hidden layers of 3, 2
//   source     ovde export, version 0.1.0
//
//   void p_act(const float* observation, float* action);   // extern "C" in C++
//
// observation: 2 numbers, as the task gives them:
//   0   x
//   1   y
// action: 2, in the task's units:
//   0   from -1 to 1   direction (3.14159 rad)
//   1   from -1 to 1   distance
//
// Its contract, which ovde verify checks:
// {
//   "contract": "ovde-contract-1",
//   "checksum": "crc32c-a63f5631",
//   "task": "GridChaos-v0:e",
//   "algorithm": "sac",
//   "seed": 0,
//   "epochs": 1,
//   "version": "0.1.0",
//   "config_sha256": "2664f3408d00ddfdb594573d17dca3a1dfa1818986a16b2f8bcceebdc1d7cdb3",
//   "policy": "policy.safetensors",
//   "policy_sha256": "a6f98abdacf095be9966d768340b4f0af1f21d987cbcf76e56d3de78c70793c1",
//   "control_rate_hz": null,
//   "observations": 2,
//   "actions": 2,
//   "observation": [
//     {"name":"x","unit":""},
//     {"name":"y","unit":""}
//   ],
//   "action": [
//     {"name":"direction","unit":"3.14159 rad","low":-1.0,"high":1.0},
//     {"name":"distance","unit":"","low":-1.0,"high":1.0}
//   ],
//   "tolerance": 1e-06,
//   "tests": [
//     {"observation":[-0.0,-0.0],"action":[0.0021295901,-9.078854e-05]},
//     {"observation":[1.2933886,-0.380024],"action":[0.0021076028,-8.729462e-05]},
//     {"observation":[0.062701255,0.0035745073],"action":[0.0021285843,-9.065427e-05]},
//     {"observation":[-0.89325875,0.956383],"action":[0.002146668,-9.430907e-05]},
//     {"observation":[0.0976877,0.07779621],"action":[0.00212822,-9.069462e-05]},
//     {"observation":[-0.57960045,-1.1147755],"action":[0.002135939,-9.030326e-05]},
//     {"observation":[-0.060525123,0.17373335],"action":[0.0021310444,-9.120094e-05]},
//     {"observation":[-0.23268472,1.27793],"action":[0.0021368444,-9.334758e-05]},
//     {"observation":[0.1404427,0.115411974],"action":[0.00212763,-9.065922e-05]},
//     {"observation":[0.33207393,-0.3941335],"action":[0.002123136,-8.9418165e-05]},
//     {"observation":[-0.0447793,0.062106546],"action":[0.002130485,-9.098763e-05]},
//     {"observation":[0.1979057,1.1161841],"action":[0.0021294283,-9.2128175e-05]},
//     {"observation":[-0.0047015,0.008362881],"action":[0.002129689,-9.0812384e-05]},
//     {"observation":[0.69164985,0.7141542],"action":[0.0021203337,-9.0384274e-05]},
//     {"observation":[-0.09533998,0.05105303],"action":[0.0021312737,-9.108286e-05]},
//     {"observation":[1.9268577,-0.9677615],"action":[0.0020957384,-8.494241e-05]}
//   ]
// }

#ifndef p_declared
#define p_declared
enum { p_observations = 2 };
enum { p_actions = 2 };

#ifdef __cplusplus
extern "C" {
#endif
void p_act(const float* observation, float* action);
#ifdef OVDE_SELF_TEST
int p_self_test(void);  // how many of the contract's tests fail; 0: none
#endif
#ifdef __cplusplus
}
#endif
#endif

#include <math.h>

static const float p_low[2] = {
  -1.00000000e+00f, -1.00000000e+00f,
};
static const float p_high[2] = {
  1.00000000e+00f, 1.00000000e+00f,
};

// y = bias + weights x; the weights lie input by input
static void p_layer(const float* weights, const float* bias, int inputs, int outputs,
    const float* x, float* y) {
  int i, o;
  for (o = 0; o < outputs; ++o) y[o] = bias[o];
  for (i = 0; i < inputs; ++i, weights += outputs) {
    for (o = 0; o < outputs; ++o) y[o] += weights[o] * x[i];
  }
}

// a NaN stays one
static void p_relu(float* y, int size) {
  int i;
  for (i = 0; i < size; ++i) y[i] = y[i] < 0.0f ? 0.0f : y[i];
}

// from [-1, 1] to the range of action d, which rounding does not leave
static float p_scaled(float unit, int d) {
  const float low = p_low[d], high = p_high[d];
  const float value = (0.5f * low + 0.5f * high) + (0.5f * high - 0.5f * low) * unit;
  return value < low ? low : value > high ? high : value;
}

static const float p_actor_weights_0[6] = {
  -1.60554182e-02f, 3.14801894e-02f, 6.13765307e-02f, 5.10101467e-02f, 1.05634294e-02f,
  -2.01027263e-02f,
};
static const float p_actor_bias_0[3] = {
  1.03631377e-01f, 9.78025571e-02f, 9.74943340e-02f,
};
static const float p_actor_weights_1[6] = {
  2.73798853e-02f, -2.27219779e-02f, -5.47998175e-02f, -4.51340675e-02f, -5.72321825e-02f,
  -2.89830212e-02f,
};
static const float p_actor_bias_1[2] = {
  1.03022456e-01f, 9.96864885e-02f,
};
static const float p_actor_weights_2[4] = {
  2.14470434e-03f, -5.94818499e-04f, 1.41890848e-03f, 4.03754879e-04f,
};
static const float p_actor_bias_2[2] = {
  1.79818494e-03f, -7.07031068e-05f,
};

static void p_actor(const float* observation, float* output) {
  float a[3], b[3];
  p_layer(p_actor_weights_0, p_actor_bias_0, 2, 3, observation, a);
  p_relu(a, 3);
  p_layer(p_actor_weights_1, p_actor_bias_1, 3, 2, a, b);
  p_relu(b, 2);
  p_layer(p_actor_weights_2, p_actor_bias_2, 2, 2, b, output);
}

void p_act(const float* observation, float* action) {
  float mean[p_actions];
  int d;
  p_actor(observation, mean);
  for (d = 0; d < p_actions; ++d) action[d] = p_scaled(tanhf(mean[d]), d);
}

#ifdef OVDE_SELF_TEST
enum { p_tests = 16 };
static const float p_test_observations[32] = {
  -0.00000000e+00f, -0.00000000e+00f, 1.29338861e+00f, -3.80023986e-01f, 6.27012551e-02f,
  3.57450731e-03f, -8.93258750e-01f, 9.56382990e-01f, 9.76876989e-02f, 7.77962133e-02f,
  -5.79600453e-01f, -1.11477554e+00f, -6.05251230e-02f, 1.73733354e-01f, -2.32684717e-01f,
  1.27793002e+00f, 1.40442699e-01f, 1.15411974e-01f, 3.32073927e-01f, -3.94133508e-01f,
  -4.47793007e-02f, 6.21065460e-02f, 1.97905704e-01f, 1.11618412e+00f, -4.70149983e-03f,
  8.36288091e-03f, 6.91649854e-01f, 7.14154184e-01f, -9.53399837e-02f, 5.10530286e-02f,
  1.92685771e+00f, -9.67761517e-01f,
};
static const float p_test_actions[32] = {
  2.12959014e-03f, -9.07885405e-05f, 2.10760278e-03f, -8.72946184e-05f, 2.12858431e-03f,
  -9.06542700e-05f, 2.14666803e-03f, -9.43090708e-05f, 2.12821993e-03f, -9.06946225e-05f,
  2.13593896e-03f, -9.03032633e-05f, 2.13104440e-03f, -9.12009418e-05f, 2.13684444e-03f,
  -9.33475822e-05f, 2.12762994e-03f, -9.06592177e-05f, 2.12313607e-03f, -8.94181649e-05f,
  2.13048491e-03f, -9.09876326e-05f, 2.12942832e-03f, -9.21281753e-05f, 2.12968909e-03f,
  -9.08123839e-05f, 2.12033372e-03f, -9.03842738e-05f, 2.13127374e-03f, -9.10828603e-05f,
  2.09573843e-03f, -8.49424105e-05f,
};
static const float p_tolerance[1] = {
  9.99999997e-07f,
};

int p_self_test(void) {
  float action[p_actions];
  int n, d, wrong, failed = 0;
  for (n = 0; n < p_tests; ++n) {
    const float* expected = p_test_actions + n * p_actions;
    p_act(p_test_observations + n * p_observations, action);
    for (d = wrong = 0; d < p_actions; ++d) {
      const float low = fabsf(p_low[d]), high = fabsf(p_high[d]);
      const float allowed = p_tolerance[0] * (low > high ? low : high);
      if (!(fabsf(action[d] - expected[d]) <= allowed)) wrong = 1;  // a NaN is wrong too
    }
    failed += wrong;
  }
  return failed;
}

#ifndef OVDE_NO_MAIN
#include <stdio.h>
int main(void) {
  const int failed = p_self_test();
  printf("p: %d of %d tests passed\n", p_tests - failed, p_tests);
  return failed > 0;
}
#endif
#endif
