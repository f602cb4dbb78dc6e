#include <sotto/core/layout.hpp>

int other() {
    return 0;
}
