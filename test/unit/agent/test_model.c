/* Specifications of models, and keys. SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/model.h"

#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "NAME=value", for env(). */
static const char *variables[4];

static char *env(const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		if (variables[i] && strncmp(variables[i], name, n) == 0 && variables[i][n] == '=')
			return (char *)(uintptr_t)variables[i] + n + 1;
	return NULL;
}

static void set(const char *a, const char *b)
{
	variables[0] = a;
	variables[1] = b;
}

TEST(specifications_are_read)
{
	static const struct {
		const char *spec, *variable, *provider, *name, *base;
		const struct wire_format *format;
	} rows[] = {
		{"openai:gpt-5.5", NULL, "openai", "gpt-5.5", "https://api.openai.com/v1",
			&wire_chat},
		{"openai:a@http://h:1", NULL, "openai", "a", "http://h:1/v1", &wire_chat},
		{"openai:a@http://h:1/", NULL, "openai", "a", "http://h:1/v1", &wire_chat},
		{"openai:a@http://h:1/v1/", NULL, "openai", "a", "http://h:1/v1", &wire_chat},
		{"openai:a@https://h/x/v2", NULL, "openai", "a", "https://h/x/v2", &wire_chat},
		{"openai:a", "OPENAI_BASE_URL=http://b/v1", "openai", "a", "http://b/v1",
			&wire_chat},
		{"openai:a", "OPENAI_BASE_URL=", "openai", "a", "https://api.openai.com/v1",
			&wire_chat},
		{"openai-responses:a", "OPENAI_BASE_URL=http://b", "openai-responses", "a",
			"http://b/v1", &wire_responses},
		{"anthropic:claude-x@20250101", NULL, "anthropic", "claude-x@20250101",
			"https://api.anthropic.com", &wire_anthropic},
		{"anthropic:c", "ANTHROPIC_BASE_URL=http://h:2/v1/", "anthropic", "c", "http://h:2",
			&wire_anthropic},
		{"anthropic:c@v@http://h/v1", NULL, "anthropic", "c@v", "http://h",
			&wire_anthropic},
		{"ollama:qwen3:4b", NULL, "ollama", "qwen3:4b", "http://127.0.0.1:11434",
			&wire_ollama},
		{"ollama:q", "OLLAMA_HOST=0.0.0.0", "ollama", "q", "http://127.0.0.1:11434",
			&wire_ollama},
		{"ollama:q", "OLLAMA_HOST=0.0.0.0:99", "ollama", "q", "http://127.0.0.1:99",
			&wire_ollama},
		{"ollama:q", "OLLAMA_HOST=box", "ollama", "q", "http://box:11434", &wire_ollama},
		{"ollama:q", "OLLAMA_HOST=[::1]", "ollama", "q", "http://[::1]:11434",
			&wire_ollama},
		{"ollama:q", "OLLAMA_HOST=[::1]:5", "ollama", "q", "http://[::1]:5", &wire_ollama},
		{"ollama:q", "OLLAMA_HOST=https://o.example/v1", "ollama", "q", "https://o.example",
			&wire_ollama},
		{"gemini:g", NULL, "gemini", "g",
			"https://generativelanguage.googleapis.com/v1beta/openai", &wire_chat},
		{"http://127.0.0.1:8080/v1#local", NULL, "url", "local", "http://127.0.0.1:8080/v1",
			&wire_chat},
		{"HTTPS://h", NULL, "url", "default", "HTTPS://h/v1", &wire_chat},
		{"exec:llm -m x | tee y", NULL, "exec", "", "llm -m x | tee y", NULL},
		{"replay:/a/b.jsonl", NULL, "replay", "", "/a/b.jsonl", NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct model m;
		struct err err = {0};
		set(rows[i].variable, NULL);
		CHECK_INT(model_parse(&m, rows[i].spec, env, &err), 0);
		CHECK_STR(err.msg, "");
		CHECK_STR(m.provider->name, rows[i].provider);
		CHECK_STR(m.name, rows[i].name);
		CHECK_STR(m.base, rows[i].base);
		CHECK(m.provider->format == rows[i].format);
	}
}

TEST(what_is_no_model_is_refused)
{
	static const struct {
		const char *spec, *variable, *message, *hint;
	} rows[] = {
		{"", NULL, "names no known provider", "openai:"},
		{"gpt-5.5", NULL, "'gpt-5.5' names no known provider",
			"did you mean 'openai:gpt-5.5'?"},
		{"Claude-opus-5", NULL, "no known provider", "'anthropic:Claude-opus-5'?"},
		{"qwen3:8b", NULL, "no known provider", "'ollama:qwen3:8b'?"},
		{"o3-mini", NULL, "no known provider", "'openai:o3-mini'?"},
		{"gemini", NULL, "no known provider", "write gemini:MODEL"},
		{"opnai:x", NULL, "no known provider", "openai:x"},
		{"openai:", NULL, "name of the model is missing", "openai:MODEL"},
		{"openai:@http://h", NULL, "name of the model is missing", "openai:MODEL"},
		{"openai:a", "OPENAI_BASE_URL=h:1", "neither http://", "whole address"},
		{"openai:a@http://u:p@h/v1", NULL, "password", "environment"},
		{"http:///", NULL, "has no host", ""},
		{"openai:a@https://?x", NULL, "has no host", ""},
		{"ollama:a", "OLLAMA_HOST=/", "has no host", ""},
		{"ollama:a", "OLLAMA_HOST=u:p@h", "password", "environment"},
		{"exec:", NULL, "program is missing", ""},
		{"replay:", NULL, "file is missing", ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct model m = {.name = "untouched"};
		struct err err = {0};
		set(rows[i].variable, NULL);
		CHECK_INT(model_parse(&m, rows[i].spec, env, &err), -EINVAL);
		CHECK_INT(err.code, ERR_USAGE);
		CHECK_HAS(err.msg, rows[i].message);
		CHECK_HAS(err.hint, rows[i].hint);
		CHECK_STR(m.name, "untouched");
	}
	char spec[9000] = "openai:";
	struct model m;
	struct err err = {0};
	memset(spec + 7, 'a', sizeof spec - 8);
	set(NULL, NULL);
	CHECK_INT(model_parse(&m, spec, env, &err), -EINVAL);
	memcpy(spec, "http://", 7);
	CHECK_INT(model_parse(&m, spec, env, &err), -EINVAL);
}

static int find(const char *spec, const char *file, struct key *key, struct err *err)
{
	struct model m;
	*err = (struct err){0};
	CHECK_INT(model_parse(&m, spec, env, err), 0);
	return key_find(key, &m, file, env, err);
}

TEST(keys_come_from_the_environment)
{
	struct key key;
	struct err err;
	set("OPENAI_API_KEY= sk-1\n", NULL);
	CHECK_INT(find("openai:m", NULL, &key, &err), 0);
	CHECK_STR(key.text, "sk-1");
	CHECK(key.is_bearer);
	set("ANTHROPIC_API_KEY=a", "ANTHROPIC_AUTH_TOKEN=b");
	CHECK_INT(find("anthropic:m", NULL, &key, &err), 0);
	CHECK_STR(key.text, "a");
	CHECK(!key.is_bearer);
	set("ANTHROPIC_AUTH_TOKEN=b", NULL);
	CHECK_INT(find("anthropic:m", NULL, &key, &err), 0);
	CHECK_STR(key.text, "b");
	CHECK(key.is_bearer);
	set("OPENAI_API_KEY=sk-1", NULL);
	/* A server that is named by its address gets no other's key. */
	CHECK_INT(find("http://127.0.0.1:8080/v1#m", NULL, &key, &err), 0);
	CHECK_STR(key.text, "");
	key_done(&key);
	CHECK_STR(key.text, "");
}

TEST(a_key_that_is_missing_is_named)
{
	struct key key;
	struct err err;
	set(NULL, NULL);
	CHECK_INT(find("openai:m", NULL, &key, &err), -EACCES);
	CHECK_INT(err.code, ERR_AUTH);
	CHECK_HAS(err.msg, "OPENAI_API_KEY");
	CHECK_HAS(err.hint, "OPENAI_API_KEY");
	/* A server of one's own may want none. */
	CHECK_INT(find("openai:m@https://h/v1", NULL, &key, &err), 0);
	CHECK_INT(find("ollama:m", NULL, &key, &err), 0);
}

TEST(a_key_that_is_none_is_not_shown)
{
	struct key key;
	struct err err;
	set("OPENAI_API_KEY=sk-1\nX-Evil: 1", NULL);
	CHECK_INT(find("openai:m", NULL, &key, &err), -EINVAL);
	CHECK_HAS(err.msg, "OPENAI_API_KEY");
	CHECK(!strstr(err.msg, "sk-1"));
	set("OPENAI_API_KEY= ", NULL);
	CHECK_INT(find("openai:m", NULL, &key, &err), -EINVAL);
}

TEST(a_key_does_not_go_in_the_clear)
{
	static const struct {
		const char *spec;
		bool is_good;
	} rows[] = {
		{"openai:m@http://127.0.0.1:1", true},
		{"openai:m@http://127.8.9.1/v1", true},
		{"openai:m@http://localhost:1/v1", true},
		{"openai:m@http://[::1]:1/v1", true},
		{"openai:m@https://example.org", true},
		{"openai:m@http://example.org", false},
		{"openai:m@http://10.0.0.1:80/v1", false},
		{"openai:m@http://127.0.0.1.example.org/v1", false},
		{"openai:m@http://127.1.evil/v1", false},
		{"openai:m@http://localhost.example.org/v1", false},
		{"openai:m@HTTP://example.org/v1", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct key key;
		struct err err;
		set("OPENAI_API_KEY=sk-1", NULL);
		int r = find(rows[i].spec, NULL, &key, &err);
		if (!CHECK_INT(r == 0, rows[i].is_good))
			printf("# %s\n", rows[i].spec);
		CHECK_INT(err.code, rows[i].is_good ? ERR_NONE : ERR_DENIED);
		CHECK_STR(key.text, rows[i].is_good ? "sk-1" : "");
		set(NULL, NULL);
		CHECK_INT(find(rows[i].spec, NULL, &key, &err), 0);
	}
}

static void put_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK_INT(fchmod(fd, mode), 0);
	(void)close(fd);
}

TEST(a_key_file_is_closed_to_others)
{
	char dir[] = "/tmp/test-model-XXXXXX", path[64];
	struct key key;
	struct err err;
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof path, "%s/key", dir);
	set("OPENAI_API_KEY=other", NULL);
	put_file(path, "sk-2\n", 0600);
	CHECK_INT(find("openai:m", path, &key, &err), 0);
	CHECK_STR(key.text, "sk-2");
	static const mode_t modes[] = {0640, 0604, 0610, 0601};
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		put_file(path, "sk-2\n", modes[i]);
		CHECK_INT(find("openai:m", path, &key, &err), -EACCES);
		CHECK_INT(err.code, ERR_ACCESS);
		CHECK_HAS(err.hint, "chmod 600");
		CHECK(!strstr(err.msg, "sk-2"));
	}
	put_file(path, "a b", 0600);
	CHECK_INT(find("openai:m", path, &key, &err), -EINVAL);
	put_file(path, "", 0600);
	CHECK_INT(find("openai:m", path, &key, &err), -EINVAL);
	CHECK_INT(find("openai:m", dir, &key, &err), -EINVAL);
	CHECK_INT(unlink(path), 0);
	CHECK_INT(find("openai:m", path, &key, &err), -ENOENT);
	CHECK_INT(rmdir(dir), 0);
}
