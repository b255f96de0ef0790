/* SPDX-License-Identifier: Apache-2.0 */
#include "net/call.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/timer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A server may close a connection just when the next request is sent; many do after 5 s. */
enum { KEPT_S = 4 };

/* The outcome for each code of libcurl. For any other code the outcome is NET_CUT with
 * ERR_UNREACHABLE. */
static const struct {
	CURLcode code;
	enum net_end end;
	enum err_code err;
} codes[] = {
	{CURLE_URL_MALFORMAT, NET_STOPPED, ERR_USAGE},
	{CURLE_UNSUPPORTED_PROTOCOL, NET_STOPPED, ERR_USAGE},
	{CURLE_OUT_OF_MEMORY, NET_STOPPED, ERR_NO_MEMORY},
	{CURLE_COULDNT_RESOLVE_PROXY, NET_NO_SERVER, ERR_UNREACHABLE},
	{CURLE_COULDNT_RESOLVE_HOST, NET_NO_SERVER, ERR_UNREACHABLE},
	{CURLE_COULDNT_CONNECT, NET_NO_SERVER, ERR_UNREACHABLE},
	{CURLE_PROXY, NET_NO_SERVER, ERR_UNREACHABLE},
	{CURLE_PEER_FAILED_VERIFICATION, NET_UNTRUSTED, ERR_UNREACHABLE},
	{CURLE_SSL_CACERT_BADFILE, NET_UNTRUSTED, ERR_UNREACHABLE},
	{CURLE_SSL_ISSUER_ERROR, NET_UNTRUSTED, ERR_UNREACHABLE},
	{CURLE_OPERATION_TIMEDOUT, NET_TIMEOUT, ERR_UNREACHABLE},
};

/* Return whether @name is a token, as the name of a header must be. Source: RFC 9110, 5.6.2. */
static bool is_header_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("!#$%&'*+-.^_`|~", *p))
			return false;
	return *name != '\0';
}

static bool is_header_value(const char *value)
{
	for (const char *p = value; *p; p++)
		if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f)
			return false;
	return true;
}

/* Check @url, and copy its host and port to @host. Messages show only these, because the rest of
 * a URL may contain secrets. */
static int check_url(const char *url, char *host, size_t host_bytes, struct err *err)
{
	bool is_http = strncasecmp(url, "http://", 7) == 0;
	bool is_https = strncasecmp(url, "https://", 8) == 0;
	if (!is_http && !is_https)
		return err_fail(err, ERR_USAGE,
			"write the whole address, as in https://example.org/v1",
			"a URL that is neither http:// nor https://");
	const char *authority = url + (is_http ? 7 : 8);
	size_t n = strcspn(authority, "/?#");
	for (const char *p = url; *p; p++)
		if ((unsigned char)*p <= 0x20 || *p == 0x7f)
			return err_set(err, ERR_USAGE, "a URL with blanks or controls in it");
	if (memchr(authority, '@', n))
		return err_fail(err, ERR_USAGE,
			"give the server's key in an environment variable or a file",
			"a URL with a user or password in it");
	if (n == 0 || n >= host_bytes || strlen(url) >= NET_URL_BYTES)
		return err_set(
			err, ERR_USAGE, "a URL %s", n ? "that is too long" : "without a host");
	memcpy(host, authority, n);
	host[n] = '\0';
	return 0;
}

static int append_line(struct net_call *c, const char *line, struct err *err)
{
	struct curl_slist *more = c->net->curl.slist_append(c->headers, line);
	if (!more)
		return err_set(err, ERR_NO_MEMORY, "no memory for the headers of a request");
	c->headers = more;
	return 0;
}

static int add_header(struct net_call *c, const char *name, const char *value, struct err *err)
{
	cleanup_buf struct buf line = BUF_INIT(NET_HEADER_BYTES);
	if (!is_header_name(name) || !is_header_value(value))
		return err_set(err, ERR_USAGE, "the header %.40s: not what a header may hold",
			is_header_name(name) ? name : "?");
	/* For a header with an empty value libcurl expects "Name;". */
	buf_addf(&line, *value ? "%s: %s" : "%s;", name, value);
	if (buf_error(&line) < 0)
		return err_set(err, ERR_LIMIT, "the header %.40s is too long", name);
	return append_line(c, line.data, err);
}

static bool has_header(const struct net_request *q, const char *name)
{
	for (size_t i = 0; i < q->n_headers; i++)
		if (strcasecmp(q->headers[i].name, name) == 0)
			return true;
	return false;
}

static int add_headers(struct net_call *c, const struct net_request *q, struct err *err)
{
	if (q->n_headers > NET_HEADERS_MAX)
		return err_set(
			err, ERR_USAGE, "%zu headers, limit %d", q->n_headers, NET_HEADERS_MAX);
	int r = 0;
	for (size_t i = 0; i < q->n_headers && r == 0; i++)
		r = add_header(c, q->headers[i].name, q->headers[i].value, err);
	/* A line such as "Accept:" makes libcurl leave out a header that it would add. A request
	 * over an existing connection has no headers but its own. */
	if (r == 0 && q->pass && !has_header(q, "Accept"))
		r = append_line(c, "Accept:", err);
	/* What follows a switch of protocols has no form. */
	if (r == 0 && q->pass && q->pass->is_switch)
		r = append_line(c, "Transfer-Encoding:", err);
	/* With "Expect", libcurl would wait a second for the server's "100 Continue" before it
	 * sends a large body. */
	return r == 0 ? append_line(c, "Expect:", err) : r;
}

/* Keep what comes behind status 101. */
static size_t keep_early(struct net_call *c, const char *data, size_t bytes)
{
	if (buf_try(&c->early, data, bytes) == 0)
		return bytes;
	(void)err_set(&c->err, ERR_LIMIT, "%s: too much behind status 101", c->host);
	c->is_upgraded = false;
	return 0;
}

static size_t on_answer(char *data, size_t size, size_t n, void *arg)
{
	struct net_call *c = arg;
	size_t bytes = size * n;
	if (c->is_cancelled)
		return 0;
	if (c->is_upgraded)
		return keep_early(c, data, bytes);
	if (bytes > c->request.answer_max_bytes - c->answer_bytes) {
		(void)err_set(&c->err, ERR_LIMIT, "%s: the answer is over %s", c->host,
			num_format_bytes(c->request.answer_max_bytes).text);
		return 0;
	}
	int r = c->request.on_data(c->request.arg, data, bytes);
	c->is_paused = r == NET_WAIT;
	if (r == NET_WAIT && !c->is_cancelled)
		return CURL_WRITEFUNC_PAUSE;
	c->answer_bytes += bytes;
	if (r == 0 && !c->is_cancelled)
		return bytes;
	(void)err_set(&c->err, ERR_INTERRUPTED, "%s: the answer was not wanted any more", c->host);
	return 0;
}

/* Handle an empty line: the headers are complete, so call on_headers(). The empty lines after an
 * interim response, such as "100 Continue", and after the trailers of a body are ignored. */
static void end_headers(struct net_call *c)
{
	c->is_upgraded |= net_status(c) == 101 && c->on_upgrade && !c->is_headed;
	if (c->is_upgraded)
		timer_start(&c->net->kick, client_kick, 0, 0);
	bool is_switched = c->is_switch && net_status(c) == 101;
	if (c->is_headed || c->is_cancelled || (net_status(c) < 200 && !is_switched))
		return;
	c->is_headed = true;
	if (c->request.on_headers)
		c->request.on_headers(c->request.arg);
}

/* libcurl would undo each coding that it knows, also several behind each other, without asking. A
 * few bytes can then become more than memory holds, or keep it busy for hours. */
static bool is_foreign_coding(const char *data, size_t bytes)
{
	static const char name[] = "Transfer-Encoding:", chunked[] = "chunked";
	const size_t n_name = sizeof name - 1, n_chunked = sizeof chunked - 1;
	if (bytes < n_name || strncasecmp(data, name, n_name) != 0)
		return false;
	const char *at = data + n_name, *end = data + bytes;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (end > at && isspace((unsigned char)end[-1]))
		end--;
	return (size_t)(end - at) != n_chunked || strncasecmp(at, chunked, n_chunked) != 0;
}

/* Return whether the headers end with @line, and are those of status 101 without a request for it.
 * libcurl would wait for what follows. */
static bool is_surprise(const struct net_call *c, const char *line)
{
	return (*line == '\r' || *line == '\n') && !c->is_headed && !c->is_switch &&
		!c->on_upgrade && net_status(c) == 101;
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
	struct net_call *c = arg;
	size_t bytes = size * n;
	if (is_foreign_coding(data, bytes)) {
		(void)err_set(&c->err, ERR_PROTOCOL, "%s: a transfer coding that was not asked for",
			c->host);
		return 0;
	}
	/* A status line begins a new response. Drop the headers of an earlier one, such as "100
	 * Continue". */
	if (bytes > 5 && strncasecmp(data, "HTTP/", 5) == 0)
		buf_clear(&c->answer_headers);
	if (is_surprise(c, data)) {
		(void)err_set(&c->err, ERR_PROTOCOL,
			"%s: a switch of protocols that was not asked for", c->host);
		return 0;
	}
	if (buf_append(&c->answer_headers, data, bytes) == 0) {
		if (*data == '\r' || *data == '\n')
			end_headers(c);
		return bytes;
	}
	(void)err_set(&c->err, ERR_LIMIT, "%s: the headers of the answer are over %s", c->host,
		num_format_bytes(NET_HEADER_BYTES).text);
	return 0;
}

static int on_progress(
	void *arg, curl_off_t all_down, curl_off_t down, curl_off_t all_up, curl_off_t up)
{
	struct net_call *c = arg;
	(void)all_down;
	(void)all_up;
	curl_off_t moved = down + up + (curl_off_t)c->answer_headers.bytes;
	if (moved != c->moved_bytes)
		c->last_ms = timer_now();
	c->moved_bytes = moved;
	return c->is_cancelled;
}

/* The curl tool reads these variables, but libcurl does not. */
const char *net_authorities(void)
{
	const char *file = getenv("CURL_CA_BUNDLE");
	if (!file || !*file)
		file = getenv("SSL_CERT_FILE");
	return file && *file ? file : NULL;
}

static size_t on_send(char *data, size_t size, size_t n, void *arg)
{
	struct net_call *c = arg;
	if (c->is_switch && !c->is_headed)
		return CURL_READFUNC_PAUSE;
	if (c->is_left)
		return 0;
	ssize_t r = c->is_cancelled ? 0 : c->request.on_body(c->request.arg, data, size * n);
	return c->is_cancelled ? CURL_READFUNC_ABORT : r < 0 ? CURL_READFUNC_PAUSE : (size_t)r;
}

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct net_call *c = arg;
	(void)purpose;
	(void)address;
	return take_fd(c->fd_for_curl); /* -1 the second time: libcurl may not connect anew */
}

static int on_opened(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	(void)arg;
	(void)fd;
	(void)purpose;
	return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static bool set_socket(struct net_call *c)
{
	const struct curl *curl = &c->net->curl;
	return curl->easy_setopt(c->easy, CURLOPT_OPENSOCKETFUNCTION, on_open) == CURLE_OK &&
		curl->easy_setopt(c->easy, CURLOPT_OPENSOCKETDATA, c) == CURLE_OK &&
		curl->easy_setopt(c->easy, CURLOPT_SOCKOPTFUNCTION, on_opened) == CURLE_OK &&
		curl->easy_setopt(c->easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
		curl->easy_setopt(c->easy, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK;
}

/* Say where to connect, without a look-up. A first "-" or "+" of an entry would have a meaning, but
 * no host begins with one. */
static bool set_addresses(struct net_call *c, const struct net_pass *pass)
{
	const struct curl *curl = &c->net->curl;
	char text[sizeof c->host + NET_TO_BYTES];
	const char *colon = strrchr(c->host, ':');
	if (!colon || strlen(pass->to) >= NET_TO_BYTES - 8)
		return false;
	if (pass->to_port)
		snprintf(text, sizeof text, "::%s:%u", pass->to, (unsigned)pass->to_port);
	else
		snprintf(text, sizeof text, "%s:%s", c->host, pass->to);
	c->to = curl->slist_append(NULL, text);
	return c->to &&
		curl->easy_setopt(c->easy, pass->to_port ? CURLOPT_CONNECT_TO : CURLOPT_RESOLVE,
			c->to) == CURLE_OK;
}

/* Have the request be as the client's. */
static bool set_pass(struct net_call *c, const struct net_pass *pass)
{
	const struct curl *curl = &c->net->curl;
	if (!pass)
		return true;
	/* With the directory of certificates, libcurl would read the file of all authorities anew
	 * for each connection: 15 ms. */
	(void)curl->easy_setopt(c->easy, CURLOPT_CAPATH, NULL);
	return curl->easy_setopt(c->easy, CURLOPT_MAXAGE_CONN, (long)KEPT_S) == CURLE_OK &&
		curl->easy_setopt(c->easy, CURLOPT_REQUEST_TARGET, pass->target) == CURLE_OK &&
		curl->easy_setopt(c->easy, CURLOPT_PROXY, "") == CURLE_OK &&
		curl->easy_setopt(c->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) ==
		CURLE_OK &&
		(pass->fd >= 0 ? set_socket(c) : set_addresses(c, pass));
}

static bool set_numbers(struct net_call *c, const struct net_request *q)
{
	const struct {
		CURLoption option;
		long value;
	} rows[] = {
		{CURLOPT_NOSIGNAL, 1},
		{CURLOPT_NOPROGRESS, 0},
		{CURLOPT_FOLLOWLOCATION, 0},
		{CURLOPT_SSL_VERIFYPEER, 1},
		{CURLOPT_SSL_VERIFYHOST, 2},
		{CURLOPT_SUPPRESS_CONNECT_HEADERS, 1},
		{CURLOPT_CONNECTTIMEOUT_MS, (long)q->connect_ms},
		{CURLOPT_TIMEOUT_MS, (long)q->whole_ms},
	};
	bool is_good = true;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		is_good &= c->net->curl.easy_setopt(c->easy, rows[i].option, rows[i].value) ==
			CURLE_OK;
	return is_good;
}

static bool set_texts(struct net_call *c, const struct net_request *q)
{
	const struct {
		CURLoption option;
		const void *value;
	} rows[] = {
		{CURLOPT_URL, q->url},
		{CURLOPT_ERRORBUFFER, c->said},
		{CURLOPT_PRIVATE, c},
		{CURLOPT_HTTPHEADER, c->headers},
		{CURLOPT_CUSTOMREQUEST, q->method},
		{CURLOPT_CAINFO, net_authorities()},
		{CURLOPT_WRITEDATA, c},
		{CURLOPT_HEADERDATA, c},
		{CURLOPT_XFERINFODATA, c},
	};
	bool is_good = true;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].value)
			is_good &= c->net->curl.easy_setopt(
					   c->easy, rows[i].option, rows[i].value) == CURLE_OK;
	return is_good;
}

static bool set_body(struct net_call *c, const struct net_request *q)
{
	const struct curl *curl = &c->net->curl;
	if (q->on_body)
		return curl->easy_setopt(c->easy, CURLOPT_UPLOAD, 1L) == CURLE_OK &&
			curl->easy_setopt(c->easy, CURLOPT_INFILESIZE_LARGE,
				(curl_off_t)q->whole_bytes) == CURLE_OK &&
			curl->easy_setopt(c->easy, CURLOPT_READFUNCTION, on_send) == CURLE_OK &&
			curl->easy_setopt(c->easy, CURLOPT_READDATA, c) == CURLE_OK;
	if (!q->body)
		return !q->method || strcmp(q->method, "HEAD") != 0 ||
			curl->easy_setopt(c->easy, CURLOPT_NOBODY, 1L) == CURLE_OK;
	return curl->easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body_bytes) ==
		CURLE_OK &&
		curl->easy_setopt(c->easy, CURLOPT_COPYPOSTFIELDS, q->body) == CURLE_OK;
}

static bool set_all(struct net_call *c, const struct net_request *q)
{
	struct curl *curl = &c->net->curl;
	c->easy = curl->easy_init();
	return c->easy && set_numbers(c, q) && set_texts(c, q) && set_body(c, q) &&
		set_pass(c, q->pass) &&
		(!q->is_direct || curl->easy_setopt(c->easy, CURLOPT_PROXY, "") == CURLE_OK) &&
		curl->easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_answer) == CURLE_OK &&
		curl->easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
		curl->easy_setopt(c->easy, CURLOPT_XFERINFOFUNCTION, on_progress) == CURLE_OK;
}

static int take_connection(struct net_call *c, const struct net_pass *pass, struct err *err)
{
	c->fd = pass ? pass->fd : -1;
	c->fd_for_curl = -1;
	c->on_upgrade = pass && c->fd >= 0 ? pass->on_upgrade : NULL;
	c->is_switch = pass && c->fd < 0 && pass->is_switch;
	if (c->fd < 0)
		return 0;
	c->fd_for_curl = fcntl(c->fd, F_DUPFD_CLOEXEC, 3);
	return c->fd_for_curl < 0 ? err_sys(err, ERR_IO, errno, "copy a socket") : 0;
}

int call_new(
	struct net_call **out, struct net *n, const struct net_request *request, struct err *err)
{
	struct net_call *c = xnew(struct net_call);
	c->net = n;
	c->answer_headers = BUF_INIT(NET_HEADER_BYTES);
	c->request = (struct net_request){.answer_max_bytes = request->answer_max_bytes,
		.idle_ms = request->idle_ms,
		.whole_ms = request->whole_ms,
		.arg = request->arg,
		.on_headers = request->on_headers,
		.on_body = request->on_body,
		.on_data = request->on_data,
		.on_done = request->on_done};
	c->early = BUF_INIT(NET_EARLY_BYTES);
	int r = take_connection(c, request->pass, err);
	if (r == 0)
		r = check_url(request->url, c->host, sizeof c->host, err);
	if (r == 0 && request->method && !is_header_name(request->method))
		r = err_set(err, ERR_USAGE, "the method is not a token");
	if (r == 0)
		r = add_headers(c, request, err);
	if (r == 0 && !set_all(c, request))
		r = err_set(err, ERR_NO_MEMORY, "no memory for a request");
	if (r < 0) {
		call_free(c);
		free(c);
		return r;
	}
	*out = c;
	return 0;
}

void call_free(struct net_call *c)
{
	struct curl *curl = &c->net->curl;
	if (c->easy)
		curl->easy_cleanup(c->easy);
	curl->slist_free_all(c->headers);
	curl->slist_free_all(c->to);
	buf_done(&c->answer_headers);
	buf_done(&c->early);
	fd_close(&c->fd);
	fd_close(&c->fd_for_curl);
	c->easy = NULL;
	c->headers = c->to = NULL;
}

static void explain(const struct net_call *c, CURLcode code, struct net_result *out)
{
	enum err_code err = ERR_UNREACHABLE;
	out->end = NET_CUT;
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].code == code) {
			out->end = codes[i].end;
			err = codes[i].err;
		}
	const char *why = c->said[0] ? c->said : c->net->curl.easy_strerror(code);
	(void)err_set(&out->err, err, "%s: %s", c->host, why);
	if (out->end == NET_UNTRUSTED)
		(void)err_hint(&out->err,
			"if the server is yours, name the certificate of its "
			"authority in SSL_CERT_FILE");
}

void call_judge(const struct net_call *c, CURLcode code, struct net_result *out)
{
	long status = 0, n_connects = 1;
	*out = (struct net_result){.end = NET_ANSWER};
	(void)c->net->curl.easy_getinfo(c->easy, CURLINFO_NUM_CONNECTS, &n_connects);
	out->is_stale = n_connects == 0 &&
		(code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING);
	(void)c->net->curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	out->status = (int)status;
	if (code == CURLE_OK)
		return;
	explain(c, code, out);
	/* libcurl calls it so when a line of a header is longer than it takes. */
	if (code == CURLE_OUT_OF_MEMORY && c->is_added && !c->is_headed && c->err.code == ERR_NONE)
		(void)err_set(
			&out->err, ERR_LIMIT, "%s: a header of the answer is too long", c->host);
	if (c->err.code == ERR_NONE)
		return;
	out->err = c->err;
	out->end = code == CURLE_OPERATION_TIMEDOUT ? NET_TIMEOUT : NET_STOPPED;
}

int net_status(const struct net_call *c)
{
	long status = 0;
	(void)c->net->curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

struct header_part {
	const char *name, *value;
	size_t name_bytes, value_bytes;
};

/* Find the next header at *@line, and move *@line behind it. Returns: false at the end. */
static bool next_header(const char **line, struct header_part *out)
{
	for (const char *end; (end = strchr(*line, '\n')) != NULL; *line = end + 1) {
		const char *colon = memchr(*line, ':', (size_t)(end - *line));
		if (!colon || isspace((unsigned char)**line))
			continue;
		const char *value = colon + 1, *last = end;
		while (value < last && (*value == ' ' || *value == '\t'))
			value++;
		while (last > value && isspace((unsigned char)last[-1]))
			last--;
		*out = (struct header_part){
			*line, value, (size_t)(colon - *line), (size_t)(last - value)};
		*line = end + 1;
		return true;
	}
	return false;
}

bool net_header(const struct net_call *c, const char *name, char *out, size_t out_bytes)
{
	struct header_part part;
	const char *line = buf_str(&c->answer_headers);
	while (next_header(&line, &part)) {
		if (part.name_bytes != strlen(name) ||
			strncasecmp(part.name, name, part.name_bytes) != 0)
			continue;
		if (part.value_bytes >= out_bytes)
			return false;
		memcpy(out, part.value, part.value_bytes);
		out[part.value_bytes] = '\0';
		return true;
	}
	return false;
}

void net_each_header(const struct net_call *c,
	void (*each)(void *arg, const char *name, const char *value), void *arg)
{
	struct header_part part;
	const char *line = buf_str(&c->answer_headers);
	cleanup_buf struct buf text = BUF_INIT(2 * NET_HEADER_BYTES);
	while (next_header(&line, &part)) {
		buf_clear(&text);
		(void)buf_append(&text, part.name, part.name_bytes);
		(void)buf_append(&text, "", 1);
		if (buf_append(&text, part.value, part.value_bytes) < 0 || buf_error(&text) < 0)
			continue;
		const char *name = buf_str(&text), *value = name + part.name_bytes + 1;
		if (is_header_name(name) && is_header_value(value))
			each(arg, name, value);
	}
}

void call_upgrade(struct net_call *c)
{
	struct net_request request = c->request;
	struct buf early = c->early;
	int fd = take_fd(c->fd);
	c->early = BUF_INIT(NET_EARLY_BYTES);
	c->on_upgrade(request.arg, fd, buf_str(&early), early.bytes);
	buf_done(&early);
}
