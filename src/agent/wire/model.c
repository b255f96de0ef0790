/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/model.h"

#include "base/word.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct provider providers[] = {
	{.name = "openai",
		.example = "gpt-5.5",
		.prefixes = {"gpt-", "chatgpt-", "o1", "o3", "o4"},
		.format = &wire_chat,
		.base = "https://api.openai.com/v1",
		.base_variable = "OPENAI_BASE_URL",
		.key_variables = {"OPENAI_API_KEY"},
		.custom_variable = "OPENAI_CUSTOM_HEADERS"},
	{.name = "openai-responses",
		.format = &wire_responses,
		.base = "https://api.openai.com/v1",
		.base_variable = "OPENAI_BASE_URL",
		.key_variables = {"OPENAI_API_KEY"},
		.custom_variable = "OPENAI_CUSTOM_HEADERS"},
	{.name = "anthropic",
		.example = "claude-opus-5",
		.prefixes = {"claude"},
		.format = &wire_anthropic,
		.base = "https://api.anthropic.com",
		.base_variable = "ANTHROPIC_BASE_URL",
		.key_variables = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"},
		.key_header = "x-api-key",
		.custom_variable = "ANTHROPIC_CUSTOM_HEADERS"},
	{.name = "ollama",
		.example = "qwen3",
		.prefixes = {"qwen", "llama", "gemma", "phi"},
		.format = &wire_ollama,
		.base = "http://127.0.0.1:11434",
		.base_variable = "OLLAMA_HOST",
		.key_variables = {"OLLAMA_API_KEY"}},
	{.name = "openrouter",
		.format = &wire_chat,
		.base = "https://openrouter.ai/api/v1",
		.key_variables = {"OPENROUTER_API_KEY"},
		.is_classic = true},
	{.name = "groq",
		.format = &wire_chat,
		.base = "https://api.groq.com/openai/v1",
		.key_variables = {"GROQ_API_KEY"},
		.is_classic = true},
	{.name = "mistral",
		.prefixes = {"mistral", "codestral", "magistral", "devstral"},
		.format = &wire_chat,
		.base = "https://api.mistral.ai/v1",
		.key_variables = {"MISTRAL_API_KEY"},
		.is_classic = true},
	{.name = "deepseek",
		.prefixes = {"deepseek"},
		.format = &wire_chat,
		.base = "https://api.deepseek.com/v1",
		.key_variables = {"DEEPSEEK_API_KEY"},
		.is_classic = true},
	{.name = "gemini",
		.prefixes = {"gemini"},
		.format = &wire_chat,
		.base = "https://generativelanguage.googleapis.com/v1beta/openai",
		.key_variables = {"GEMINI_API_KEY"},
		.is_classic = true},
	{.name = "xai",
		.prefixes = {"grok"},
		.format = &wire_chat,
		.base = "https://api.x.ai/v1",
		.key_variables = {"XAI_API_KEY"},
		.is_classic = true},
	{.name = "exec", .kind = MODEL_EXEC},
	{.name = "replay", .kind = MODEL_REPLAY},
};

/* The provider for a model that is named by a URL. It has a variable of its own for the key, so
 * no key of another provider is sent to this URL. */
static const struct provider by_url = {.name = "url",
	.format = &wire_chat,
	.key_variables = {"RETORT_MODEL_KEY"},
	.is_classic = true};

static bool has_scheme(const char *text)
{
	return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

static int put(char *out, size_t bytes, const char *text, size_t n, struct err *err)
{
	if (n >= bytes)
		return err_set(err, ERR_USAGE, "model: %zu bytes, limit %zu", n, bytes - 1);
	memmove(out, text, n);
	out[n] = '\0';
	return 0;
}

static void cut_end(char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);
	if (n > k && strcmp(text + n - k, end) == 0)
		text[n - k] = '\0';
}

/* Read OLLAMA_HOST as ollama does: "host", "host:port" or "0.0.0.0", which means 127.0.0.1. */
static int read_host(struct model *m, const char *host, struct err *err)
{
	char text[MODEL_BASE_BYTES];
	bool has_port = strchr(host, ']') ? strstr(host, "]:") != NULL : strchr(host, ':') != NULL;
	const char *rest = strncmp(host, "0.0.0.0", 7) == 0 ? host + 7 : NULL;
	int n = snprintf(text, sizeof text, "http://%s%s%s", rest ? "127.0.0.1" : "",
		rest ? rest : host, has_port ? "" : ":11434");
	return put(m->base, sizeof m->base, text, (size_t)n, err);
}

/* Bring the base URL into the form that the wire format needs. Users write it with or without
 * "/", "/v1" or "/api" at its end. */
static int normalize(struct model *m, struct err *err)
{
	const struct wire_format *format = m->provider->format;
	while (strlen(m->base) > 0 && m->base[strlen(m->base) - 1] == '/')
		m->base[strlen(m->base) - 1] = '\0';
	if (format == &wire_anthropic)
		cut_end(m->base, "/v1");
	if (format == &wire_ollama) {
		cut_end(m->base, "/v1");
		cut_end(m->base, "/api");
	}
	const char *host = strstr(m->base, "://");
	bool is_bare = host && !strchr(host + 3, '/');
	if (is_bare && (format == &wire_chat || format == &wire_responses)) {
		if (strlen(m->base) + 4 > sizeof m->base)
			return err_set(err, ERR_USAGE, "model: the address is too long");
		memcpy(m->base + strlen(m->base), "/v1", 4);
	}
	return 0;
}

/* Check that @base, which begins with a scheme, has a host and no password. */
static int check_host(const char *base, struct err *err)
{
	const char *host = strstr(base, "://") + 3;
	size_t n = strcspn(host, "/?#");
	if (n == 0)
		return err_set(err, ERR_USAGE, "model: the address has no host");
	if (!memchr(host, '@', n))
		return 0;
	return err_fail(err, ERR_USAGE, "give the key in an environment variable, or in a file",
		"model: the address contains a user or a password");
}

static int set_base(struct model *m, const char *base, size_t bytes, struct err *err)
{
	int r = put(m->base, sizeof m->base, base, bytes, err);
	if (r < 0)
		return r;
	if (!has_scheme(m->base) && m->provider->format == &wire_ollama) {
		char host[MODEL_BASE_BYTES];
		memcpy(host, m->base, bytes + 1);
		r = read_host(m, host, err);
	} else if (!has_scheme(m->base)) {
		return err_fail(err, ERR_USAGE,
			"write the whole address, as in https://example.org/v1",
			"model: the address begins with neither http:// nor https://");
	}
	if (r == 0)
		r = check_host(m->base, err);
	return r < 0 ? r : normalize(m, err);
}

static int read_url(struct model *m, const char *spec, struct err *err)
{
	const char *hash = strchr(spec, '#');
	const char *name = hash && hash[1] ? hash + 1 : "default";
	m->provider = &by_url;
	int r = put(m->name, sizeof m->name, name, strlen(name), err);
	return r < 0 ? r : set_base(m, spec, strcspn(spec, "#"), err);
}

/* Find the "@" in front of a base URL. The name of a model may also contain "@", so only an "@"
 * that is followed by a URL counts. */
static const char *find_base(const char *name)
{
	for (const char *at = strchr(name, '@'); at; at = strchr(at + 1, '@'))
		if (has_scheme(at + 1))
			return at;
	return NULL;
}

static int read_provided(struct model *m, const char *rest, model_env *env, struct err *err)
{
	const struct provider *p = m->provider;
	const char *at = find_base(rest);
	const char *base = p->base_variable ? env(p->base_variable) : NULL;
	size_t n = at ? (size_t)(at - rest) : strlen(rest);
	if (n == 0) {
		(void)err_set(err, ERR_USAGE,
			"model: the name of the model is missing after \"%s:\"", p->name);
		return err_hint(err, "write %s:MODEL, where MODEL is the model's name", p->name);
	}
	int r = put(m->name, sizeof m->name, rest, n, err);
	if (at)
		base = at + 1;
	m->is_default = !base || !*base;
	if (m->is_default)
		base = p->base;
	return r < 0 ? r : set_base(m, base, strlen(base), err);
}

static const struct provider *find_provider(const char *name, size_t bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(providers); i++)
		if (strlen(providers[i].name) == bytes &&
			memcmp(providers[i].name, name, bytes) == 0)
			return &providers[i];
	return NULL;
}

/* Find the provider of a model that is named without one, such as "gpt-5.5", by the beginning of
 * the name. */
static const struct provider *find_maker(const char *spec)
{
	for (size_t i = 0; i < ARRAY_LEN(providers); i++)
		for (const char *const *p = providers[i].prefixes; *p; p++)
			if (strncasecmp(spec, *p, strlen(*p)) == 0)
				return &providers[i];
	return NULL;
}

static int refuse(const char *spec, struct err *err)
{
	const struct provider *alone = find_provider(spec, strlen(spec));
	const struct provider *maker = find_maker(spec);
	char wire[WORD_MAX_BYTES];
	snprintf(wire, sizeof wire, "%.*s", (int)strcspn(spec, ":"), spec);
	struct word_near near = WORD_NEAR(wire);
	for (size_t i = 0; i < ARRAY_LEN(providers); i++)
		word_near_try(&near, providers[i].name);
	(void)err_set(err, ERR_USAGE, "model: '%.80s' names no known provider", spec);
	if (alone)
		return err_hint(
			err, "write %s:MODEL, where MODEL is the model's name", alone->name);
	if (maker)
		return err_hint(err, "did you mean '%s:%.80s'?", maker->name, spec);
	if (near.best && strchr(spec, ':'))
		return err_hint(err, "did you mean '%s%s'?", near.best, strchr(spec, ':'));
	return err_hint(err,
		"write provider:model, as in openai:gpt-5.5, anthropic:claude-opus-5, "
		"ollama:qwen3, or http://127.0.0.1:8080/v1#model");
}

int model_parse(struct model *out, const char *spec, model_env *env, struct err *err)
{
	struct model m = {0};
	const char *colon = strchr(spec, ':');
	int r;
	if (has_scheme(spec)) {
		r = read_url(&m, spec, err);
	} else {
		m.provider = colon ? find_provider(spec, (size_t)(colon - spec)) : NULL;
		if (!m.provider)
			return refuse(spec, err);
		if (m.provider->kind == MODEL_HTTP)
			r = read_provided(&m, colon + 1, env, err);
		else if (!colon[1])
			r = err_set(err, ERR_USAGE, "model: after \"%s\" a %s is missing", spec,
				m.provider->kind == MODEL_EXEC ? "program" : "file");
		else
			r = put(m.base, sizeof m.base, colon + 1, strlen(colon + 1), err);
	}
	if (r < 0)
		return r;
	*out = m;
	return 0;
}

void model_show(const struct model *m, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "%s:%s", m->provider->name,
		m->provider->kind == MODEL_HTTP ? m->name : m->base);
}

const char *model_guess(model_env *env, char *out, size_t out_bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(providers); i++) {
		const struct provider *p = &providers[i];
		for (size_t k = 0; k < ARRAY_LEN(p->key_variables) && p->key_variables[k]; k++) {
			const char *text = env(p->key_variables[k]);
			if (!text || !*text)
				continue;
			snprintf(out, out_bytes, "%s:%s", p->name,
				p->example ? p->example : "MODEL");
			return p->key_variables[k];
		}
	}
	return NULL;
}
