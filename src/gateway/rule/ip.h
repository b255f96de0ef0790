/* Addresses of the internet: their text, and which of them are public. Pure.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { IP_TEXT_BYTES = 48 };

/* An address of IPv6, or of IPv4 in its v4-mapped form ::ffff:a.b.c.d, in network byte order. */
struct ip {
	uint8_t bytes[16];
};

/* Read four decimal numbers without leading zeros ("127.0.0.1"), or an address of IPv6 without
 * brackets or scope. Other forms that some libraries read (0x7f.1, 017700000001, 2130706433) are no
 * addresses. Returns: false if @text is none. */
bool ip_parse(struct ip *out, const char *text);
void ip_write(const struct ip *a, char out[IP_TEXT_BYTES]);

/* Make the address that stands for @v4, in host byte order. */
struct ip ip_of_v4(uint32_t v4);
/* Return whether @a is v4-mapped, and set *@v4, if it is not NULL, to its IPv4 address in host byte
 * order. */
bool ip_is_v4(const struct ip *a, uint32_t *v4);

/* Convert from and to AF_INET and AF_INET6. ip_from() returns false for another family. ip_to()
 * makes an AF_INET address of a v4-mapped one; it returns the length. */
bool ip_from(struct ip *out, const struct sockaddr *sa);
socklen_t ip_to(const struct ip *a, uint16_t port, struct sockaddr_storage *out);

/*
 * Say what kind of address @a is if it is not public. The word fits "its address 10.0.0.1 is …":
 * "loopback", "private", "link-local", "multicast", "reserved", "a tunnel", and so on. An address
 * that carries an IPv4 address (v4-mapped, v4-compatible, NAT64, 6to4, ISATAP) is what the IPv4
 * address is, if that is not public; of those that carry a public one, v4-mapped and NAT64 ones are
 * public, and the others are tunnels. So is Teredo. A prefix of NAT64 that a provider chose is not
 * known here.
 * Returns: NULL if @a is public; else a word, static.
 * Source: the IANA special-purpose address registries (RFC 6890).
 */
const char *ip_kind(const struct ip *a);

/* Return whether @a is not even an address of a private network, but one of the host itself, of its
 * link (with the metadata of clouds), or of many: "!" does not allow it. */
bool ip_is_own(const struct ip *a);
