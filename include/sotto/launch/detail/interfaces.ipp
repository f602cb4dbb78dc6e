#pragma once

#include "sotto/launch/detail/interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/host_port.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/core/standard_streams.hpp"

namespace sotto::detail::launch {

SOTTO_DECL std::optional<std::vector<std::uint8_t>> address_bytes(std::string text) {
    std::array<std::uint8_t, 16> raw{};
    if (const std::size_t zone = text.find('%'); zone != std::string::npos) text.resize(zone);
    if (::inet_pton(AF_INET, text.c_str(), raw.data()) == 1)
        return std::vector<std::uint8_t>(raw.begin(), raw.begin() + 4);
    if (::inet_pton(AF_INET6, text.c_str(), raw.data()) == 1)
        return std::vector<std::uint8_t>(raw.begin(), raw.end());
    return std::nullopt;
}

SOTTO_DECL bool is_within(const std::string& address, const std::vector<std::uint8_t>& network,
                          std::size_t bits) {
    const auto own = address_bytes(address);
    if (!own || own->size() != network.size()) return false;
    for (std::size_t bit = 0; bit < bits; ++bit)
        if ((((*own)[bit / 8] ^ network[bit / 8]) >> (7 - bit % 8) & 1) != 0) return false;
    return true;
}

SOTTO_DECL std::string address_of_interface(const std::string& wanted,
                                            const std::vector<network_interface>& all) {
    const std::string choice = sotto::detail::without_brackets(wanted);
    const auto first = [&](auto is_meant) -> std::optional<std::string> {
        const auto found = std::find_if(all.begin(), all.end(), is_meant);
        return found == all.end() ? std::nullopt : std::optional(found->address);
    };
    if (const auto named = first([&](const network_interface& i) { return i.name == choice; }))
        return *named;
    if (const auto own = first([&](const network_interface& i) {
            return i.address == choice || i.address.starts_with(choice + "%");
        }))
        return *own;
    if (const std::size_t slash = choice.find('/'); slash != std::string::npos) {
        const auto network = address_bytes(choice.substr(0, slash));
        std::size_t bits = 0;
        const char* const end = choice.data() + choice.size();
        const auto [read, why] = std::from_chars(choice.data() + slash + 1, end, bits);
        if (!network || why != std::errc() || read != end || bits > 8 * network->size())
            throw invalid_option("launch: the interface '" + printable(choice) +
                                 "' is no network such as 10.1.0.0/16");
        if (const auto inside = first(
                [&](const network_interface& i) { return is_within(i.address, *network, bits); }))
            return *inside;
    } else if (const auto like =
                   first([&](const network_interface& i) { return i.name.starts_with(choice); })) {
        return *like;
    }
    std::string list;
    for (const network_interface& i : all)
        list += (list.empty() ? "" : ", ") + i.name + " (" + i.address + ")";
    throw invalid_option("launch: no interface is '" + printable(choice) + "'; there are " + list);
}

SOTTO_DECL std::vector<network_interface> interfaces_of_this_machine() {
    sotto::open_standard_streams();  // getifaddrs opens its own socket
    ifaddrs* raw = nullptr;
    if (::getifaddrs(&raw) != 0)
        throw io_failure("launch: the system does not tell its network interfaces: " +
                         std::string(std::strerror(errno)));
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(raw, &::freeifaddrs);
    std::vector<network_interface> found;
    for (const int family : {AF_INET, AF_INET6})
        for (const ifaddrs* i = all.get(); i != nullptr; i = i->ifa_next) {
            if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != family ||
                (i->ifa_flags & IFF_UP) == 0)
                continue;
            const void* const at =
                family == AF_INET
                    ? static_cast<const void*>(
                          &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr)
                    : &reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr;
            std::array<char, INET6_ADDRSTRLEN> text{};
            if (::inet_ntop(family, at, text.data(), text.size()) == nullptr) continue;
            std::string address = text.data();
            // Every link has a link-local address, which is usable only together with its
            // interface.
            if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(static_cast<const in6_addr*>(at)))
                address += "%" + std::string(i->ifa_name);
            found.push_back({i->ifa_name, address});
        }
    return found;
}

}  // namespace sotto::detail::launch
