#include "env/task_file/quantities.h"

#include <algorithm>
#include <charconv>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/suggestion.h"
#include "env/mujoco/task.h"

namespace ovde {

void refuse_name(const std::string& kind, const std::string& name,
                 const std::vector<std::string>& valid, const std::string& owner) {
  constexpr std::size_t kMostShown = 20;
  const std::span shown(valid.data(), std::min(valid.size(), kMostShown));
  throw InputError(fmt::format(
      "unknown {} '{}'{}; {} {}{}", kind, name, did_you_mean(name, valid, "'"), owner,
      valid.empty() ? "has none" : fmt::format("has {}", fmt::join(shown, ", ")),
      valid.size() > kMostShown ? fmt::format(" and {} more", valid.size() - kMostShown) : ""));
}

namespace {

std::vector<std::string> names_in(const mjModel& m, int type) {
  const int count = type == mjOBJ_BODY       ? static_cast<int>(m.nbody)
                    : type == mjOBJ_JOINT    ? static_cast<int>(m.njnt)
                    : type == mjOBJ_GEOM     ? static_cast<int>(m.ngeom)
                    : type == mjOBJ_SITE     ? static_cast<int>(m.nsite)
                    : type == mjOBJ_SENSOR   ? static_cast<int>(m.nsensor)
                    : type == mjOBJ_ACTUATOR ? static_cast<int>(m.nu)
                                             : static_cast<int>(m.nkey);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    const char* const name = mj_id2name(&m, type, i);
    if (name != nullptr && *name != 0) names.emplace_back(name);
  }
  return names;
}

}  // namespace

int number_in(const mjModel& m, int type, const std::string& kind, const std::string& name) {
  const int number = mj_name2id(&m, type, name.c_str());
  if (number < 0) refuse_name(kind, name, names_in(m, type), "the model");
  return number;
}

JointCoordinates coordinates_of(const mjModel& m, int joint) {
  const int type = m.jnt_type[joint];
  return {.position = m.jnt_qposadr[joint],
          .position_size = type == mjJNT_FREE   ? 7
                           : type == mjJNT_BALL ? 4
                                                : 1,
          .velocity = m.jnt_dofadr[joint],
          .velocity_size = type == mjJNT_FREE   ? 6
                           : type == mjJNT_BALL ? 3
                                                : 1};
}

std::string scaled_unit(const std::string& unit, double factor) {
  const std::size_t blank = unit.find(' ');
  double size = 1;
  std::string base = unit;
  const auto [end, error] = std::from_chars(unit.data(), unit.data() + unit.size(), size);
  if (error == std::errc() && blank != std::string::npos && end == unit.data() + blank) {
    base = unit.substr(blank + 1);
  } else {
    size = 1;
  }
  size /= factor;
  if (size == 1) return base;
  return base.empty() ? fmt::format("{:g}", size) : fmt::format("{:g} {}", size, base);
}

namespace {

std::vector<Signal> part_of(const std::vector<Signal>& all, int first, int size) {
  return {all.begin() + first, all.begin() + first + size};
}

std::string sensor_unit(const mjModel& m, int sensor) {
  const int type = m.sensor_type[sensor], object = m.sensor_objid[sensor];
  switch (type) {
    case mjSENS_JOINTPOS:
    case mjSENS_JOINTLIMITPOS:
      return m.jnt_type[object] == mjJNT_SLIDE ? "m" : "rad";
    case mjSENS_JOINTVEL:
    case mjSENS_JOINTLIMITVEL:
      return m.jnt_type[object] == mjJNT_SLIDE ? "m/s" : "rad/s";
    case mjSENS_JOINTLIMITFRC:
      return m.jnt_type[object] == mjJNT_SLIDE ? "N" : "N m";
    case mjSENS_ACCELEROMETER:
    case mjSENS_FRAMELINACC:
      return "m/s^2";
    case mjSENS_VELOCIMETER:
    case mjSENS_FRAMELINVEL:
    case mjSENS_SUBTREELINVEL:
      return "m/s";
    case mjSENS_GYRO:
    case mjSENS_FRAMEANGVEL:
    case mjSENS_BALLANGVEL:
      return "rad/s";
    case mjSENS_FORCE:
    case mjSENS_TOUCH:
    case mjSENS_ACTUATORFRC:
      return "N";
    case mjSENS_TORQUE:
      return "N m";
    case mjSENS_FRAMEPOS:
    case mjSENS_RANGEFINDER:
    case mjSENS_SUBTREECOM:
      return "m";
    default:
      return "";
  }
}

// A quantity that lies in mjData.
struct Stored {
  const char* part;
  const double* first;
  int size;
  std::vector<Signal> signals;
};

Quantity choose(const std::string& kind, const std::string& part, const std::vector<Stored>& all,
                std::vector<std::string> others = {}) {
  for (const Stored& stored : all) {
    if (part == stored.part)
      return {.first = stored.first, .size = stored.size, .signals = stored.signals};
  }
  std::vector<std::string> valid;
  for (const Stored& stored : all) valid.emplace_back(stored.part);
  valid.insert(valid.end(), others.begin(), others.end());
  refuse_name("quantity", part, valid, "a " + kind);
}

Quantity joint(const mjModel& m, const mjData& d, int i, const std::string& part) {
  const auto [q, nq, v, nv] = coordinates_of(m, i);
  const StateSignals state = state_signals(m);
  const auto velocities = part_of(state.velocities, v, nv);
  std::vector<Signal> accelerations, forces;
  for (const Signal& signal : velocities) {
    accelerations.push_back({signal.name + "_change", signal.unit + "^2"});
    forces.push_back({signal.name + "_force", ""});
  }
  return choose("joint", part,
                {{"pos", d.qpos + q, nq, part_of(state.positions, q, nq)},
                 {"vel", d.qvel + v, nv, velocities},
                 {"acc", d.qacc + v, nv, accelerations},
                 {"force", d.qfrc_actuator + v, nv, forces}});
}

// Quantities of something with a frame: those in mjData, velocities, and the direction of gravity.
Quantity framed(const std::string& kind, const std::string& name, const std::string& part, int type,
                int i, const double* rotation, const std::vector<Stored>& stored) {
  const bool local = part.starts_with("local_");
  const std::string plain = local ? part.substr(6) : part;
  if (plain == "vel" || plain == "angvel") {
    const bool linear = plain == "vel";
    return {.source = Quantity::Source::velocity,
            .size = 3,
            .type = type,
            .number = i,
            .local = local,
            .linear = linear,
            .signals = parts(local ? name + "_local" : name, 3, linear ? "m/s" : "rad/s",
                             linear ? "_velocity" : "_angular_velocity")};
  }
  if (part == "gravity")  // minus the last row of the rotation
    return {.first = rotation + 6,
            .size = 3,
            .negative = true,
            .signals = parts(name + "_gravity", 3, "")};
  return choose(kind, part, stored, {"vel", "angvel", "local_vel", "local_angvel", "gravity"});
}

}  // namespace

const std::vector<std::string>& object_kinds() {
  static const std::vector<std::string> all = {"joint",    "body",   "site",   "geom",
                                               "actuator", "sensor", "contact"};
  return all;
}

Quantity quantity_of(const mjModel& m, const mjData& d, const std::string& kind,
                     const std::string& name, const std::string& part) {
  const auto number = [&](int type) { return number_in(m, type, kind, name); };
  if (kind == "sensor") {
    const int i = number(mjOBJ_SENSOR), size = m.sensor_dim[i];
    return {.first = d.sensordata + m.sensor_adr[i],
            .size = size,
            .type = mjOBJ_SENSOR,
            .number = i,
            .signals = parts(name, size, sensor_unit(m, i))};
  }
  if (kind == "joint") return joint(m, d, number(mjOBJ_JOINT), part);
  if (kind == "actuator") {
    const int i = number(mjOBJ_ACTUATOR);
    return choose(kind, part,
                  {{"ctrl", d.ctrl + i, 1, parts(name + "_ctrl", 1, "")},
                   {"force", d.actuator_force + i, 1, parts(name + "_force", 1, "")}});
  }
  if (kind == "body") {
    const int i = number(mjOBJ_BODY);
    return framed(kind, name, part, mjOBJ_XBODY, i, d.xmat + 9 * i,
                  {{"pos", d.xpos + 3 * i, 3, parts(name, 3, "m")},
                   {"quat", d.xquat + 4 * i, 4, parts(name, 4, "")},
                   {"com", d.subtree_com + 3 * i, 3, parts(name + "_com", 3, "m")}});
  }
  const bool site = kind == "site";
  const int type = site ? mjOBJ_SITE : mjOBJ_GEOM, i = number(type);
  const double* const position = (site ? d.site_xpos : d.geom_xpos) + 3 * i;
  return framed(kind, name, part, type, i, (site ? d.site_xmat : d.geom_xmat) + 9 * i,
                {{"pos", position, 3, parts(name, 3, "m")}});
}

Quantity contact_of(const mjModel& m, const std::vector<std::string>& geoms) {
  if (geoms.size() > 2) throw InputError("contact takes one or two geoms");
  Quantity quantity{.source = Quantity::Source::contact,
                    .number = number_in(m, mjOBJ_GEOM, "geom", geoms[0]),
                    .signals = {{"contact_" + geoms[0], ""}}};
  if (geoms.size() == 2) quantity.other = number_in(m, mjOBJ_GEOM, "geom", geoms[1]);
  return quantity;
}

}  // namespace ovde
