#pragma once

#include "sotto/transports/detail/mpi/mpi_session.hpp"

#include <array>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/standard_streams.hpp"

namespace sotto::detail::mpi {

SOTTO_DECL void require_success(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int size = 0;
    MPI_Error_string(code, text.data(), &size);
    throw io_failure("mpi: " + std::string(call) + ": " + text.data());
}

SOTTO_DECL void keep(std::shared_ptr<void> used) {
    static auto& kept = *new std::vector<std::shared_ptr<void>>;
    kept.push_back(std::move(used));
}

SOTTO_DECL std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int size = 0;
    MPI_Get_library_version(text.data(), &size);
    const std::string_view all(text.data());
    return std::string(all.substr(0, all.find_first_of("\n\r,")));
}

SOTTO_DECL std::shared_ptr<session> session::enter() {
    static std::mutex entering;
    static std::weak_ptr<session> present;
    const std::lock_guard lock(entering);
    auto entered = present.lock();
    if (!entered) present = entered = std::make_shared<session>();
    entered->require_caller(false);
    return entered;
}

SOTTO_DECL session::session() {
    int is = 0;
    MPI_Finalized(&is);
    if (is != 0)
        throw invalid_option(
            "mpi: MPI was finalised in this process already, which it can be only once. It is "
            "when the last sotto::mpi goes, unless the program itself initialises MPI first");
    MPI_Initialized(&is);
    if (is == 0) {
        open_standard_streams();  // MPI opens its own files and sockets
        require_success(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided_),
                        "MPI_Init_thread");
        own_ = true;
    }
    MPI_Query_thread(&provided_);
    int is_main = 0;
    MPI_Is_thread_main(&is_main);
    if (is_main != 0) main_ = std::this_thread::get_id();
}

SOTTO_DECL session::~session() {
    if (!owner_.is_this()) return;  // a child of fork() must not call MPI
    int is = 0;
    MPI_Finalized(&is);
    if (own_ && !spoilt_ && is == 0) MPI_Finalize();
}

SOTTO_DECL void session::require_caller(bool later) const {
    if (provided_ >= MPI_THREAD_SERIALIZED) return;
    const bool from_main = std::this_thread::get_id() == main_;
    if (from_main && provided_ >= MPI_THREAD_FUNNELED) return;
    const std::string text =
        "mpi: called from " + std::string(from_main ? "the main thread" : "another thread") +
        ", which needs " + name_of(from_main ? MPI_THREAD_FUNNELED : MPI_THREAD_SERIALIZED) +
        ", but MPI was initialised with " + name_of(provided_) + ": pass it to MPI_Init_thread";
    if (later) throw std::logic_error(text);
    throw invalid_option(text);
}

SOTTO_DECL std::string session::name_of(int level) {
    switch (level) {
        case MPI_THREAD_SINGLE: return "MPI_THREAD_SINGLE";
        case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
        case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
        default: return "MPI_THREAD_MULTIPLE";
    }
}

}  // namespace sotto::detail::mpi
