/* Addresses: their text, and which are public. SPDX-License-Identifier: Apache-2.0 */
#include "gateway/rule/ip.h"

#include "t.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const char *kind(const char *text)
{
	struct ip a;
	if (!CHECK(ip_parse(&a, text)))
		return text;
	const char *word = ip_kind(&a);
	return word ? word : "public";
}

TEST(other_notations_are_no_addresses)
{
	static const char *const texts[] = {"", "1.2.3", "127.1", "0177.0.0.1", "127.0.0.01",
		"0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001", "256.0.0.1", "1.2.3.4.",
		" 1.2.3.4", "1.2.3.4 ", "+1.2.3.4", "[::1]", "fe80::1%eth0", "fe80::1%2", "::1/128",
		":::", "::ffff:127.0.0.01", "1::2::3", "12345::", "localhost"};
	struct ip a;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (!CHECK(!ip_parse(&a, texts[i])))
			printf("# %s\n", texts[i]);
}

TEST(texts_come_back)
{
	static const char *const texts[][2] = {{"127.0.0.1", "127.0.0.1"},
		{"::ffff:10.0.0.1", "10.0.0.1"}, {"::FFFF:0a00:0001", "10.0.0.1"}, {"::1", "::1"},
		{"2001:DB8:0:0:0:0:0:1", "2001:db8::1"}, {"::1.2.3.4", "::1.2.3.4"}};
	struct ip a;
	char text[IP_TEXT_BYTES];
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CHECK(ip_parse(&a, texts[i][0]));
		ip_write(&a, text);
		CHECK_STR(text, texts[i][1]);
	}
}

TEST(v4_of_the_registry)
{
	static const char *const rows[][2] = {{"0.0.0.0", "unspecified"},
		{"0.1.2.3", "unspecified"}, {"1.0.0.0", "public"}, {"9.255.255.255", "public"},
		{"10.0.0.0", "private"}, {"10.255.255.255", "private"}, {"11.0.0.0", "public"},
		{"100.63.255.255", "public"}, {"100.64.0.0", "private"},
		{"100.100.100.200", "private"}, {"100.127.255.255", "private"},
		{"100.128.0.0", "public"}, {"126.255.255.255", "public"}, {"127.0.0.1", "loopback"},
		{"127.255.255.255", "loopback"}, {"128.0.0.0", "public"},
		{"168.63.129.15", "public"}, {"168.63.129.16", "the cloud's own"},
		{"168.63.129.17", "public"}, {"169.253.255.255", "public"},
		{"169.254.169.254", "link-local"}, {"169.255.0.0", "public"},
		{"172.15.255.255", "public"}, {"172.16.0.0", "private"},
		{"172.31.255.255", "private"}, {"172.32.0.0", "public"},
		{"191.255.255.255", "public"}, {"192.0.0.192", "reserved"}, {"192.0.1.0", "public"},
		{"192.0.2.1", "for documentation"}, {"192.0.3.0", "public"},
		{"192.88.99.1", "a tunnel"}, {"192.88.100.0", "public"},
		{"192.167.255.255", "public"}, {"192.168.1.1", "private"},
		{"192.169.0.0", "public"}, {"198.17.255.255", "public"},
		{"198.18.0.1", "for benchmarks"}, {"198.19.255.255", "for benchmarks"},
		{"198.20.0.0", "public"}, {"198.51.100.7", "for documentation"},
		{"203.0.113.255", "for documentation"}, {"203.0.114.0", "public"},
		{"223.255.255.255", "public"}, {"224.0.0.1", "multicast"},
		{"239.255.255.255", "multicast"}, {"240.0.0.0", "reserved"},
		{"255.255.255.254", "reserved"}, {"255.255.255.255", "broadcast"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char mapped[IP_TEXT_BYTES];
		CHECK_STR(kind(rows[i][0]), rows[i][1]);
		(void)snprintf(mapped, sizeof mapped, "::ffff:%s", rows[i][0]);
		CHECK_STR(kind(mapped), rows[i][1]);
	}
}

TEST(v6_of_the_registry)
{
	static const char *const rows[][2] = {{"::", "unspecified"}, {"::1", "loopback"},
		{"100::1", "discarded"}, {"100:0:0:1::", "reserved"}, {"1fff::1", "reserved"},
		{"2000::1", "public"}, {"2001:200::1", "public"}, {"2001:2::1", "for benchmarks"},
		{"2001:1::1", "reserved"}, {"2001:10::1", "reserved"}, {"2001:20::1", "reserved"},
		{"2001:1ff:ffff::", "reserved"}, {"2001:db7:ffff::", "public"},
		{"2001:db8::1", "for documentation"}, {"2001:db9::", "public"},
		{"2606:4700:4700::1111", "public"}, {"2a00:1450:4001::200e", "public"},
		{"3ffe:ffff::", "public"}, {"3fff::1", "for documentation"},
		{"3fff:fff:ffff::", "for documentation"}, {"3fff:1000::", "public"},
		{"4000::", "reserved"}, {"5f00::1", "reserved"}, {"fbff::", "reserved"},
		{"fc00::1", "private"}, {"fd00:ec2::254", "private"}, {"fe00::1", "reserved"},
		{"fe80::1", "link-local"}, {"febf::1", "link-local"}, {"fec0::1", "private"},
		{"ff02::1", "multicast"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(kind(rows[i][0]), rows[i][1]);
}

TEST(carried_v4)
{
	static const char *const rows[][2] = {{"::7f00:1", "loopback"}, {"::8.8.8.8", "a tunnel"},
		{"::10.0.0.1", "private"}, {"64:ff9b::8.8.8.8", "public"},
		{"64:ff9b::169.254.169.254", "link-local"}, {"64:ff9b::10.0.0.1", "private"},
		{"64:ff9b:1::8.8.8.8", "private"}, {"64:ff9b:0:1::8.8.8.8", "reserved"},
		{"2002:808:808::1", "a tunnel"}, {"2002:7f00:1::1", "loopback"},
		{"2002:a9fe:a9fe::", "link-local"},
		{"2001:0:4136:e378:8000:63bf:3fff:fdd2", "a tunnel"},
		{"2606:4700::5efe:8.8.8.8", "a tunnel"},
		{"2606:4700::200:5efe:10.0.0.1", "private"},
		{"2606:4700::100:5efe:10.0.0.1", "public"}, {"fe80::5efe:8.8.8.8", "link-local"},
		{"::ffff:0:127.0.0.1", "reserved"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(kind(rows[i][0]), rows[i][1]);
}

TEST(sockaddr_and_back)
{
	static const char *const texts[] = {"192.0.2.1", "2001:db8::1"};
	struct sockaddr_storage sa;
	struct ip a, again;
	uint32_t v4;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CHECK(ip_parse(&a, texts[i]));
		socklen_t bytes = ip_to(&a, 443, &sa);
		CHECK_INT(bytes, i == 0 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
		CHECK_INT(sa.ss_family, i == 0 ? AF_INET : AF_INET6);
		CHECK_INT(ntohs(((const struct sockaddr_in *)&sa)->sin_port), 443);
		CHECK(ip_from(&again, (const struct sockaddr *)&sa));
		CHECK(memcmp(&a, &again, sizeof a) == 0);
	}
	sa.ss_family = AF_UNIX;
	CHECK(!ip_from(&again, (const struct sockaddr *)&sa));
	a = ip_of_v4(0xc0000201);
	CHECK(ip_is_v4(&a, &v4));
	CHECK_INT(v4, 0xc0000201);
	CHECK(ip_parse(&a, "::1.2.3.4") && !ip_is_v4(&a, &v4));
}

TEST(what_even_a_private_rule_does_not_allow)
{
	static const char *const own[] = {"0.0.0.0", "127.0.0.1", "127.8.9.10", "169.254.169.254",
		"168.63.129.16", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
		"fe80::1", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::1"};
	static const char *const others[] = {"10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1",
		"192.0.2.1", "198.51.100.1", "fd00::1", "1.1.1.1", "2606:4700::1111"};
	struct ip a;
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (!CHECK(ip_parse(&a, own[i]) && ip_is_own(&a)))
			printf("# %s\n", own[i]);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (!CHECK(ip_parse(&a, others[i]) && !ip_is_own(&a)))
			printf("# %s\n", others[i]);
}
