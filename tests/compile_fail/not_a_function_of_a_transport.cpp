// expect-error: run_in_process needs a function that takes an in_process&
#include "sotto/transports/run_in_process.hpp"

void misuse() {
    sotto::run_in_process(4, [](int rank) { return rank; });
}
