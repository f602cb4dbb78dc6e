#pragma once

#include "sotto/launch/environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <system_error>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/detail/text/host_port.hpp"
#include "sotto/core/detail/text/print_line.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/launch/detail/interfaces.hpp"
#include "sotto/launch/detail/node_list.hpp"
#include "sotto/launch/detail/system_calls.hpp"

namespace sotto::detail::launch {

SOTTO_DECL std::int64_t read_number(const char* name, const std::string& text, std::int64_t lowest,
                                    std::int64_t highest) {
    std::int64_t value = 0;
    const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (why != std::errc() || end != text.data() + text.size() || value < lowest || value > highest)
        throw invalid_option("launch: " + std::string(name) + " is '" + text +
                             "'; expected a number from " + std::to_string(lowest) + " to " +
                             std::to_string(highest));
    return value;
}

SOTTO_DECL std::optional<placement> told_by(const launcher& by,
                                            const sotto::launch::variables& get) {
    const auto rank = get(by.rank);
    if (!rank) return std::nullopt;
    placement place;
    place.launcher = by.name;
    place.size = 0;
    std::string wanted;
    for (const char* const name : by.size) {
        if (name == nullptr) break;
        wanted += (wanted.empty() ? "" : " or ") + std::string(name);
        if (const auto size = get(name); size && place.size == 0)
            place.size = static_cast<int>(read_number(name, *size, 1, 65536));
    }
    if (place.size == 0)
        throw invalid_option("launch: " + std::string(by.rank) + " is '" + *rank + "', but " +
                             wanted + " is not set");
    place.rank = static_cast<int>(read_number(by.rank, *rank, 0, place.size - 1));
    const auto local = [&](const char* name, std::int64_t lowest) {
        const auto text = name == nullptr ? std::nullopt : get(name);
        return text ? static_cast<int>(read_number(name, *text, lowest, place.size)) : -1;
    };
    place.local_rank = local(by.local_rank, 0);
    place.local_size = local(by.local_size, 1);
    return place;
}

SOTTO_DECL void require_no_size(const sotto::launch::variables& get) {
    constexpr std::array<const char*, 2> pairs[] = {{"SOTTO_SIZE", "SOTTO_RANK"},
                                                    {"WORLD_SIZE", "RANK"}};
    for (const auto& [size, rank] : pairs)
        if (const auto text = get(size); text && read_number(size, *text, 1, 65536) > 1)
            throw invalid_option("launch: " + std::string(size) + " is '" + *text + "', but " +
                                 rank + " is not set");
}

SOTTO_DECL std::optional<placement> told_by_slurm(const sotto::launch::variables& get) {
    if (!get("SLURM_STEP_NUM_TASKS")) return std::nullopt;
    return told_by(*std::find_if(std::begin(launchers), std::end(launchers),
                                 [](const launcher& by) { return by.name == slurm; }),
                   get);
}

SOTTO_DECL std::optional<placement> srun_instead_of(const placement& told,
                                                    const sotto::launch::variables& get) {
    if (told.launcher != std::string_view("PMI") && told.launcher != std::string_view("PMIx"))
        return std::nullopt;
    auto by_slurm = told_by_slurm(get);
    if (!by_slurm || told.local_size >= 0 || by_slurm->rank != told.rank ||
        by_slurm->size != told.size)
        return std::nullopt;
    return by_slurm;
}

SOTTO_DECL void find_port(placement& place, const sotto::launch::variables& get) {
    const auto take = [&](const char* name) {
        const auto text = get(name);
        if (text) place.port = static_cast<std::uint16_t>(read_number(name, *text, 1, 65535));
        return text.has_value();
    };
    if (take("SOTTO_PORT")) return;
    if (take("MASTER_PORT")) {
        // torchrun's own agent listens on that port. The next one is likely free; if not, rank 0
        // reports it.
        if (get("TORCHELASTIC_USE_AGENT_STORE") == "True")
            place.port = static_cast<std::uint16_t>(place.port < 65535 ? place.port + 1 : 1024);
        return;
    }
    if (const auto job = get("SLURM_JOB_ID"))  // a separate port for each job on a shared machine
        place.port = static_cast<std::uint16_t>(
            20000 + read_number("SLURM_JOB_ID", *job, 0, std::int64_t{1} << 40) % 20000);
}

SOTTO_DECL bool take_address(placement& place, const sotto::launch::variables& get,
                             const char* name, const char* port_name) {
    const auto text = get(name);
    if (!text) return false;
    const auto read = sotto::detail::read_host_port(*text);
    if (!read)
        throw invalid_option("launch: " + std::string(name) + " is '" + printable(*text) +
                             "'; expected a name or an address, as node0, 10.0.0.1 or ::1, perhaps "
                             "with a port, as node0:29500 or [::1]:29500");
    place.address = read->host;
    if (!read->port) return true;
    const auto port = get(port_name);
    if (!port)
        place.port = *read->port;
    else if (read_number(port_name, *port, 1, 65535) != *read->port)
        throw invalid_option("launch: " + std::string(name) + " is '" + printable(*text) +
                             "', but " + port_name + " is '" + *port +
                             "'; expected one port of rank 0");
    return true;
}

SOTTO_DECL void find_address(placement& place, const sotto::launch::variables& get) {
    const bool told = take_address(place, get, "SOTTO_ADDRESS", "SOTTO_PORT");
    std::vector<std::string> nodes;
    if (place.launcher == slurm)
        for (const char* const name :
             {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"})
            if (const auto list = get(name); list && nodes.empty()) nodes = expand_node_list(*list);
    if (nodes.size() == 1) place.local_size = place.size;
    if (told) return;
    if (place.size == 1 || place.local_size == place.size) {
        if (!place.bind.empty()) place.address = place.bind;
        return;
    }
    const std::uint16_t port = place.port;
    if (take_address(place, get, "MASTER_ADDR", "MASTER_PORT")) {
        if (get("SOTTO_PORT")) place.port = port;
        return;
    }
    if (!nodes.empty()) {
        place.address = nodes.front();
        return;
    }
    throw invalid_option(
        "launch: " + place.launcher + " started " + std::to_string(place.size) + " processes" +
        (place.local_size < 0 ? "" : ", " + std::to_string(place.local_size) + " of them here") +
        ", and does not say where rank 0 is: set SOTTO_ADDRESS, and SOTTO_PORT if " +
        std::to_string(place.port) + " is taken");
}

}  // namespace sotto::detail::launch

namespace sotto::launch {

SOTTO_DECL detail::launch::detection detect(const variables& get) {
    detail::launch::detection found;
    found.place.launcher = "nobody";
    std::vector<placement> all;  // places that differ, innermost first
    for (const detail::launch::launcher& by : detail::launch::launchers) {
        // A process inside a Slurm job inherits its variables, no matter which launcher started it.
        if (!all.empty() && by.name == detail::launch::slurm) break;
        auto told = by.name == detail::launch::slurm ? detail::launch::told_by_slurm(get)
                                                     : detail::launch::told_by(by, get);
        if (!told) continue;
        if (const auto srun = detail::launch::srun_instead_of(*told, get)) told = srun;
        const bool is_new = std::none_of(all.begin(), all.end(), [&](const placement& other) {
            return told->rank == other.rank && told->size == other.size;
        });
        if (!is_new) continue;
        all.push_back(*told);
        if (all.size() == 1) continue;
        const placement& first = all.front();
        const auto said = [](const placement& p) {
            return p.launcher + " says rank " + std::to_string(p.rank) + " of " +
                   std::to_string(p.size);
        };
        if (told->size == first.size && first.launcher != std::string_view("sotto"))
            throw invalid_option("launch: " + said(first) + ", " + said(*told) +
                                 ": set SOTTO_RANK and SOTTO_SIZE to choose");
        found.diagnostics.push_back(said(first) + "; " + said(*told) +
                                    ", which is taken for what started the other");
    }
    if (!all.empty()) found.place = all.front();
    if (const auto choice = get("SOTTO_INTERFACE"))
        found.place.bind =
            address_of_interface(*choice, detail::launch::interfaces_of_this_machine());
    if (all.empty()) {
        detail::launch::require_no_size(get);
        found.diagnostics.push_back(
            "no launcher and no SOTTO_RANK says which rank this is: it trains alone, rank 0 of 1");
        return found;
    }
    detail::launch::find_port(found.place, get);
    detail::launch::find_address(found.place, get);
    return found;
}

SOTTO_DECL placement from_environment() {
    if (!sotto::detail::open_standard_streams())
        detail::launch::refuse_by_system("/dev/null cannot be opened");
    detail::launch::detection found = detect([](const char* name) -> std::optional<std::string> {
        const char* const value = std::getenv(name);
        if (value == nullptr || *value == '\0') return std::nullopt;
        return value;
    });
    if (found.place.rank == 0)
        for (const std::string& diagnostic : found.diagnostics)
            sotto::detail::print_line(stderr, "sotto: " + diagnostic);
    return std::move(found.place);
}

}  // namespace sotto::launch
