// Lists the models that groups have published for each other, and whether they can be read.

#include <sotto/checkpoint/print_teachers.hpp>
#include <sotto/core/exit_code.hpp>
#include <sotto/core/printable.hpp>
#include <sotto/core/standard_streams.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

using sotto::exit_code;

constexpr const char* usage =
    "usage: sotto_teachers FOLDER\n"
    "\n"
    "Lists the models in FOLDER, which groups publish for each other to learn from\n"
    "(checkpoint_exchange, publish) or which are finished (finished_models): of each group a line\n"
    "about its newest whole model. Every byte of that is read and checked.\n"
    "\n"
    "  step          of those who trained it\n"
    "  loss          of labels, lately, on what they trained on\n"
    "  written       how long ago\n"
    "  kept          models in the group's folder\n"
    "  architecture  the first digits of its digest: models learn only from others of the same\n"
    "\n"
    "and at the end one of\n"
    "\n"
    "  whole\n"
    "  torn: ...     a newer model is not whole: readers take the one before it, if there is one\n"
    "  unreadable: ...  the same of a newer model that cannot be read, or a folder\n"
    "  no model\n"
    "  not finite    a weight is infinite or no number: nobody learns from it\n"
    "  other architecture than group-N, the first in the list that has one\n"
    "\n"
    "Exit status:\n"
    "  0  all models are whole\n"
    "  1  fault: a model is not whole, or there is no group\n"
    "  2  usage: FOLDER was not given or cannot be listed\n";

}  // namespace

int main(int argc, char** argv) try {
    sotto::open_standard_streams();
    const std::string_view given = argc > 1 ? argv[1] : "";
    if (argc == 2 && (given == "-h" || given == "--help")) {
        std::fputs(usage, stdout);
        sotto::require_standard_output();
        return static_cast<int>(exit_code::done);
    }
    if (argc != 2 || given.empty() || given[0] == '-') {
        const std::string_view odd = argc > 2 && !given.starts_with('-') ? argv[2] : given;
        std::fprintf(stderr, "sotto_teachers: one folder was expected, not '%s'\n%s",
                     sotto::printable(odd).c_str(), usage);
        return static_cast<int>(exit_code::usage);
    }
    if (!sotto::print_teachers(std::string(given))) return static_cast<int>(exit_code::fault);
    sotto::require_standard_output();
    return static_cast<int>(exit_code::done);
} catch (...) {
    return sotto::report_exception("sotto_teachers");
}
