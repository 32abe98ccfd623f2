// A trained policy, as C99 that is C++ too. It needs <math.h> alone, allocates nothing,
// keeps nothing between calls, and may be called by several threads at once.
//
//   task       GridChaos-v0:e: cross a noisy square to a goal in its corner; sparse reward 100
//   algorithm  ids, seed 0, 1 epochs
//   networks   2, with hidden layers of 3, 2
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
//   "checksum": "crc32c-0fd4d112",
//   "task": "GridChaos-v0:e",
//   "algorithm": "ids",
//   "seed": 0,
//   "epochs": 1,
//   "version": "0.1.0",
//   "config_sha256": "3c056b5145a9519fc7f2066324c31f18a255e1af628f6a6c7095a488163f8711",
//   "policy": "policy.safetensors",
//   "policy_sha256": "357eb0420e1abda807a5f969fbce06f5e69726b8c6b8b218b2e79b987a198147",
//   "control_rate_hz": null,
//   "observations": 2,
//   "actions": 2,
//   "bins": 2,
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
//     {"observation":[-0.0,-0.0],"action":[1.0,-1.0]},
//     {"observation":[1.2933886,-0.380024],"action":[1.0,-1.0]},
//     {"observation":[0.062701255,0.0035745073],"action":[1.0,-1.0]},
//     {"observation":[-0.89325875,0.956383],"action":[1.0,-1.0]},
//     {"observation":[0.0976877,0.07779621],"action":[1.0,-1.0]},
//     {"observation":[-0.57960045,-1.1147755],"action":[1.0,-1.0]},
//     {"observation":[-0.060525123,0.17373335],"action":[1.0,-1.0]},
//     {"observation":[-0.23268472,1.27793],"action":[1.0,-1.0]},
//     {"observation":[0.1404427,0.115411974],"action":[1.0,-1.0]},
//     {"observation":[0.33207393,-0.3941335],"action":[1.0,-1.0]},
//     {"observation":[-0.0447793,0.062106546],"action":[1.0,-1.0]},
//     {"observation":[0.1979057,1.1161841],"action":[1.0,-1.0]},
//     {"observation":[-0.0047015,0.008362881],"action":[1.0,-1.0]},
//     {"observation":[0.69164985,0.7141542],"action":[1.0,-1.0]},
//     {"observation":[-0.09533998,0.05105303],"action":[1.0,-1.0]},
//     {"observation":[1.9268577,-0.9677615],"action":[1.0,-1.0]}
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

enum { p_bins = 2 };
enum { p_choices = 4 };

static const float p_critic_1_weights_0[6] = {
  -4.36838381e-02f, 6.16032556e-02f, 4.99372110e-02f, -5.30836433e-02f, 1.68603268e-02f,
  -2.29258146e-02f,
};
static const float p_critic_1_bias_0[3] = {
  1.03087485e-01f, 9.94030610e-02f, 1.01243742e-01f,
};
static const float p_critic_1_weights_1[6] = {
  -1.39835728e-02f, 4.76819538e-02f, 1.21238641e-02f, -4.01777178e-02f, -5.16736135e-02f,
  -1.68534797e-02f,
};
static const float p_critic_1_bias_1[2] = {
  9.93231535e-02f, 1.03373222e-01f,
};
static const float p_critic_1_weights_2[8] = {
  -3.56219616e-03f, -8.38930719e-04f, -3.37645086e-03f, 5.99028717e-04f, -4.92890971e-03f,
  -8.43765156e-04f, -4.20828443e-03f, -1.00262882e-03f,
};
static const float p_critic_1_bias_2[4] = {
  -1.99278863e-03f, -1.38460088e-03f, -1.85333285e-03f, -2.14816886e-03f,
};

static void p_critic_1(const float* observation, float* output) {
  float a[3], b[3];
  p_layer(p_critic_1_weights_0, p_critic_1_bias_0, 2, 3, observation, a);
  p_relu(a, 3);
  p_layer(p_critic_1_weights_1, p_critic_1_bias_1, 3, 2, a, b);
  p_relu(b, 2);
  p_layer(p_critic_1_weights_2, p_critic_1_bias_2, 2, 4, b, output);
}

static const float p_critic_2_weights_0[6] = {
  4.35296297e-02f, 4.86160517e-02f, 2.73553319e-02f, 2.24411543e-02f, 4.08721752e-02f,
  -1.34767825e-02f,
};
static const float p_critic_2_bias_0[3] = {
  1.01589605e-01f, 1.01379156e-01f, 1.01175383e-01f,
};
static const float p_critic_2_weights_1[6] = {
  2.99062543e-02f, -1.43160131e-02f, 5.09372801e-02f, -4.32183892e-02f, 4.24400577e-03f,
  2.70512532e-02f,
};
static const float p_critic_2_bias_1[2] = {
  1.03706159e-01f, 1.02753557e-01f,
};
static const float p_critic_2_weights_2[8] = {
  -4.50147642e-03f, 6.46987930e-04f, 1.96515350e-03f, -3.80911771e-03f, -3.51144955e-03f,
  7.18626310e-04f, 1.35545176e-03f, -4.01195511e-03f,
};
static const float p_critic_2_bias_2[4] = {
  -1.39792159e-03f, -1.40066328e-03f, -1.61990197e-03f, -1.79970451e-03f,
};

static void p_critic_2(const float* observation, float* output) {
  float a[3], b[3];
  p_layer(p_critic_2_weights_0, p_critic_2_bias_0, 2, 3, observation, a);
  p_relu(a, 3);
  p_layer(p_critic_2_weights_1, p_critic_2_bias_1, 3, 2, a, b);
  p_relu(b, 2);
  p_layer(p_critic_2_weights_2, p_critic_2_bias_2, 2, 4, b, output);
}

// the best of all combinations of p_bins values for each action, the first running fastest
void p_act(const float* observation, float* action) {
  float first[p_choices], second[p_choices];
  int n, d, best = 0;
  p_critic_1(observation, first);
  p_critic_2(observation, second);
  for (n = 1; n < p_choices; ++n) {
    if (first[n] + second[n] > first[best] + second[best]) best = n;
  }
  for (d = 0; d < p_actions; ++d, best /= p_bins) {
    action[d] = p_scaled(2.0f * (float)(best % p_bins) / (float)(p_bins - 1) - 1.0f, d);
  }
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
  1.00000000e+00f, -1.00000000e+00f, 1.00000000e+00f, -1.00000000e+00f, 1.00000000e+00f,
  -1.00000000e+00f, 1.00000000e+00f, -1.00000000e+00f, 1.00000000e+00f, -1.00000000e+00f,
  1.00000000e+00f, -1.00000000e+00f, 1.00000000e+00f, -1.00000000e+00f, 1.00000000e+00f,
  -1.00000000e+00f, 1.00000000e+00f, -1.00000000e+00f, 1.00000000e+00f, -1.00000000e+00f,
  1.00000000e+00f, -1.00000000e+00f, 1.00000000e+00f, -1.00000000e+00f, 1.00000000e+00f,
  -1.00000000e+00f, 1.00000000e+00f, -1.00000000e+00f, 1.00000000e+00f, -1.00000000e+00f,
  1.00000000e+00f, -1.00000000e+00f,
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
