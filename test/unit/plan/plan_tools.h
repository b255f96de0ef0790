/* Tools that tests of policies and of plans call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"
#include "label/tool.h"

static const struct tool_type type_text = {.shape = TOOL_STRING, .kind = {.rank = KIND_TEXT}};
static const struct tool_type type_int = {.shape = TOOL_INT, .kind = {.rank = KIND_NUMBER}};
static const struct tool_type type_bool = {.shape = TOOL_BOOL, .kind = {.rank = KIND_BOOL}};
static const struct tool_type type_texts = {.shape = TOOL_LIST, .item = &type_text};
static const struct tool_field mail_fields[] = {{"sender", &type_text, true},
	{"recipients", &type_texts, true}, {"subject", &type_text, true},
	{"body", &type_text, true}, {"size", &type_int, true}, {"read", &type_bool, true}};
static const struct tool_type type_mail = {
	.shape = TOOL_DICT, .field = mail_fields, .n_fields = ARRAY_LEN(mail_fields)};
static const struct tool_type type_mails = {.shape = TOOL_LIST, .item = &type_mail};

#define FIELD(name)                                                                                \
	{                                                                                          \
		name, &type_text, true                                                             \
	}
#define PARAMS(list) .param = list, .n_params = ARRAY_LEN(list)
static const struct tool_field query_params[] = {FIELD("query")}, url_params[] = {FIELD("url")},
			       send_params[] = {FIELD("recipients"), FIELD("subject"),
				       FIELD("body")},
			       file_params[] = {FIELD("file_id")},
			       pay_params[] = {FIELD("recipient"), FIELD("amount")};

static const char *const web_host[] = {"*.example.org", "api.example"};

/* In the order of their names. */
static const struct tool test_tools[] = {
	{.name = "bank.pay", PARAMS(pay_params), .is_destructive = true, .is_open_world = true},
	{.name = "clock.today", .result = &type_text, .is_read_only = true},
	{.name = "contacts.search", PARAMS(query_params), .is_read_only = true},
	{.name = "files.delete", PARAMS(file_params), .is_destructive = true},
	{.name = "files.read", PARAMS(file_params), .result = &type_text, .is_read_only = true},
	{.name = "mail.search", PARAMS(query_params), .result = &type_mails, .is_read_only = true},
	{.name = "mail.send", PARAMS(send_params), .is_open_world = true},
	{.name = "web.get",
		PARAMS(url_params),
		.result = &type_text,
		.is_read_only = true,
		.is_open_world = true},
	{.name = "web.list", .result = &type_mails, .host = web_host, .n_hosts = 2},
	{.name = "web.run", .host = web_host + 1, .n_hosts = 1},
};
static const struct tool_set test_set = {test_tools, ARRAY_LEN(test_tools)};

/* The policy of the documents. */
#define TEST_POLICY                                                                                                  \
	"trust(user, policy, tool('contacts.search'), tool('clock.today'))\n"                                        \
	"INTERNAL = ['@example.com']\n"                                                                              \
	"rule('mail.search', effect = read, result = each(origin = 'sender', readers = ['sender', 'recipients']))\n" \
	"rule('web.get', effect = read)\n"                                                                           \
	"rule('files.read', effect = read)\n"                                                                        \
	"rule('contacts.search', effect = read)\n"                                                                   \
	"rule('clock.today', effect = read, result = value(kind = date))\n"                                          \
	"rule('mail.send', effect = external, when = trusted | at_most(bool),\n"                                     \
	"     recipients = control(allow = trusted | approved | ends_with(INTERNAL), otherwise = ask),\n"            \
	"     subject = payload(otherwise = deny),\n"                                                                \
	"     body = payload(readers = covers('recipients'), otherwise = deny))\n"                                   \
	"rule('files.delete', effect = destructive, when = trusted,\n"                                               \
	"     file_id = control(allow = trusted, otherwise = deny))\n"                                               \
	"rule('bank.pay', effect = payment, when = trusted, limit = at_most_per_run(2, amount = 100),\n"             \
	"     recipient = control(allow = trusted, otherwise = ask),\n"                                              \
	"     amount = control(allow = trusted | at_most(number), otherwise = ask))\n"
