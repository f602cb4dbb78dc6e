#pragma once
// The only place of the version: CMake and the Conan recipe read it from this file.

#define SOTTO_VERSION_MAJOR 0
#define SOTTO_VERSION_MINOR 1
#define SOTTO_VERSION_PATCH 0

/// Number that grows with every release: 100 * (100 * major + minor) + patch.
#define SOTTO_VERSION \
    (10000 * SOTTO_VERSION_MAJOR + 100 * SOTTO_VERSION_MINOR + SOTTO_VERSION_PATCH)
