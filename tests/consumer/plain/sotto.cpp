#include <sotto/src.hpp>
#include <sotto/src_tcp.hpp>
