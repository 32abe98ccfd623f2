// Looking up tasks beyond what ovde/env.h has.
#pragma once

#include <string>

#include <ovde/env.h>

namespace ovde {

// The task of an id "Name" or "Name:preset", whether or not it has that preset; nullptr: none.
const Task* registered_task(const std::string& id);

}  // namespace ovde
