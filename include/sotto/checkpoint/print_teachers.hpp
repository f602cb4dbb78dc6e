#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "sotto/checkpoint/detail/file_system.hpp"
#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"

namespace sotto::detail::checkpoint {

/// Returns "1.5 MiB", "12 MiB".
std::string with_unit(double value, const char* unit);

/// Returns a size, for people.
std::string in_bytes(std::int64_t bytes);

/// Returns an age, for people. If clocks differ, a file may be newer than now.
std::string ago(double seconds);

/// Content of the folder of one group.
struct listed_group {
    int group = 0;
    published_survey found{};
    std::string unreadable{};  // why it is unreadable
    std::string written = "unknown";
};

/// Reads the whole newest model of a group.
listed_group look_at(posix_files& files, const std::string& folder, int group);

/// Returns what is wrong with a group's models, or "whole". Other groups are compared with `first`.
std::string health_of(const listed_group& about, const listed_group* first);

/// Returns one line about a group.
std::string text_of(const listed_group& about, const std::string& health);

}  // namespace sotto::detail::checkpoint

namespace sotto {

/// Prints a line about each group that has published models in a folder: facts about its newest
/// whole model, and at the end "whole" or what is wrong. checkpoint_exchange and `publish` write
/// such folders, and finished_models reads them. The program `sotto_teachers` prints the same and
/// explains each word. Returns true if the models of all groups are whole, finite and of one
/// architecture.
///   cost    reads and checks every byte of the newest models
///   errors  invalid_option: the folder cannot be listed; io_failure: it has no group
bool print_teachers(const std::string& folder, std::FILE* to = stdout);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/print_teachers.ipp"
#endif
