/* serve.c - serves endpoints to other programs: figures of a fleet of runs
 *
 * A request makes a job, which asks each run for its part; requests for the same share one. At most ASKED_MOST analysts work
 * at a time, so that a scrape does not take all cores. A part that does not come in time is left out.
 */
#include "live/fleet/serve.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "live/authority.h"
#include "live/fleet/pprof.h"
#include "live/http.h"
#include "platform/os.h"
#include "report/words/memory_stream.h"
#include "trace/read/run.h"

enum {
  ASKED_MOST = 4,
  PATIENCE_LEAST_MS = 500,
  JOBS_MOST = 16,
  JOBS_WITH_SECONDS_MOST = 8, /* they last long, and must not keep scrapers out */
  FILES_A_RUN = 4,            /* a socket or answers that are kept, and parts of jobs; some are left for connections */
  STATE_EVERY_MS = 10000,     /* of a run that nothing is asked about: whether it goes on */
};

/* --- jobs --- */

enum stage { EARLIER, LATEST, STAGES }; /* with seconds, parts are taken twice */

struct part {
  struct hwi_fleet_run *run;
  bool is_asked;
  bool is_done;
  struct hwi_live_answer answers[STAGES];
};

struct job {
  struct hwi_live_query query;
  struct part *parts;
  uint32_t part_count;
  enum stage stage;
  uint64_t begin_ms;    /* of the stage; it may be later */
  uint64_t patience_ms; /* so long a stage waits for parts */
  uint32_t requests;
  bool is_done;
  struct job *next;
};

struct request {
  struct hwi_http_waiter http;
  struct job *job;
};

struct hwi_serve {
  struct hwi_http http;
  struct hwi_authority authority;
  struct hwi_fleet *fleet;
  struct job *jobs; /* the newest first */
};

static void release_job(struct job *job)
{
  for (uint32_t i = 0; i < job->part_count; i++) {
    job->parts[i].run->users--;
    for (int stage = 0; stage < STAGES; stage++)
      if (job->parts[i].answers[stage].fd >= 0)
        close(job->parts[i].answers[stage].fd);
  }
  free(job->parts);
  free(job);
}

/* Returns NULL if there is no memory. */
static struct job *make_job(struct hwi_serve *serve, const struct hwi_live_query *query)
{
  const struct hwi_fleet *fleet = serve->fleet;
  const uint64_t pid = query->numbers[HWI_LIVE_PID];
  struct job *job = calloc(1, sizeof *job);
  if (job)
    *job = (struct job){.query = *query,
                        .parts = calloc(fleet->count + 1, sizeof *job->parts),
                        .stage = query->numbers[HWI_LIVE_SECONDS] ? EARLIER : LATEST,
                        .begin_ms = hwi_os_monotonic_ms(),
                        .patience_ms = HWI_FLEET_PATIENCE_MS,
                        .next = serve->jobs};
  if (!job || !job->parts) {
    free(job);
    return NULL;
  }
  for (size_t i = 0; i < fleet->count; i++) {
    if (pid && !hwi_run_has_process(fleet->runs[i]->path, pid))
      continue;
    struct part *part = &job->parts[job->part_count++];
    *part = (struct part){.run = fleet->runs[i], .answers = {{.fd = -1}, {.fd = -1}}};
    part->run->users++;
  }
  job->is_done = job->stage == EARLIER && job->part_count != 1; /* the answer says so now rather than later */
  return serve->jobs = job;
}

/* Requests for the same share a job that has not ended, unless it has an interval of its own. */
static struct job *find_job(const struct hwi_serve *serve, const struct hwi_live_query *query, uint32_t *count)
{
  struct job *found = NULL;
  *count = 0;
  for (struct job *job = serve->jobs; job; job = job->next, ++*count)
    if (!job->is_done && job->stage == LATEST && !query->numbers[HWI_LIVE_SECONDS] &&
        hwi_live_query_is_same(&job->query, query))
      found = job;
  return found;
}

/* --- answers --- */

/* Lists the endpoints in a folder. */
static enum MHD_Result answer_list(struct MHD_Connection *connection, const char *folder)
{
  struct hwi_memory_stream list = {0};
  FILE *out = hwi_memory_stream_begin(&list);
  for (const struct hwi_live_endpoint *const *endpoint = hwi_live_endpoints; out && *endpoint; endpoint++)
    if (strncmp((*endpoint)->path, folder, strlen(folder)) == 0)
      fprintf(out, "%-24s %s\n", (*endpoint)->path, (*endpoint)->about);
  const bool done = out && hwi_memory_stream_end(&list, out);
  const enum MHD_Result result = done ? hwi_http_say(connection, MHD_HTTP_OK, list.text) : MHD_NO;
  hwi_memory_stream_release(&list);
  return result;
}

static enum MHD_Result answer_job(const struct hwi_serve *serve, const struct job *job,
                                  struct MHD_Connection *connection)
{
  struct hwi_live_part *items = calloc((size_t)job->part_count + 1, sizeof *items);
  if (!items)
    return MHD_NO;
  for (uint32_t i = 0; i < job->part_count; i++) {
    const struct hwi_live_answer *earlier = &job->parts[i].answers[EARLIER], *last = &job->parts[i].answers[job->stage];
    items[i] =
        (struct hwi_live_part){.name = job->parts[i].run->name,
                               .fd = last->fd,
                               .bytes = last->bytes,
                               .earlier_fd = earlier->fd,
                               .earlier_bytes = earlier->bytes,
                               .error = last->fd >= 0  ? NULL
                                        : *last->error ? last->error
                                                       : "the process that follows the run did not answer in time"};
  }
  const struct hwi_live_parts parts = {items, job->part_count, serve->fleet->left_out};
  const enum MHD_Result result = hwi_live_endpoints[job->query.endpoint]->answer(connection, &job->query, &parts);
  free(items);
  return result;
}

/* --- requests --- */

static enum MHD_Result refuse(struct MHD_Connection *connection)
{
  static const char why[] =
      "this server needs the header 'Authorization: Bearer TOKEN', with the token of its --token FILE\n";
  struct MHD_Response *response = hwi_http_response(why, sizeof why - 1);
  hwi_http_add_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
  return hwi_http_answer(connection, MHD_HTTP_UNAUTHORIZED, response, "text/plain; charset=utf-8");
}

/* Returns how long parts may take so that the answer comes in time: a scraper says how long it waits, usually 10 s. One that
 * says next to nothing does not end the job that others wait for, too. */
static uint64_t patience_of(struct MHD_Connection *connection)
{
  const char *seconds = hwi_http_header(connection, "X-Prometheus-Scrape-Timeout-Seconds");
  const double ms = seconds ? 0.8 * 1000 * strtod(seconds, NULL) : 0;
  if (!(ms > 0 && ms < HWI_FLEET_PATIENCE_MS))
    return HWI_FLEET_PATIENCE_MS;
  return ms < PATIENCE_LEAST_MS ? PATIENCE_LEAST_MS : (uint64_t)ms;
}

static enum MHD_Result wait_for(struct hwi_serve *serve, struct MHD_Connection *connection,
                                const struct hwi_live_query *query, struct request **place)
{
  uint32_t count;
  struct job *job = find_job(serve, query, &count);
  if (!job && count >= (query->numbers[HWI_LIVE_SECONDS] ? JOBS_WITH_SECONDS_MOST : JOBS_MOST))
    return hwi_http_say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "too many requests at once; ask again later\n");
  struct request *request = calloc(1, sizeof *request);
  if (request && !job)
    job = make_job(serve, query);
  if (!request || !job) {
    free(request);
    return MHD_NO;
  }
  job->requests++;
  const uint64_t patience_ms = patience_of(connection);
  if (patience_ms < job->patience_ms)
    job->patience_ms = patience_ms;
  request->job = job;
  *place = request;
  hwi_http_wait(&serve->http, &request->http, connection);
  return MHD_YES;
}

/* Called twice for a request that waits: when it came, and when its job is done. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **place)
{
  struct hwi_serve *serve = context;
  const struct request *request = *place;
  struct hwi_live_query query;
  char why[HWI_ERROR_TEXT_BYTES];
  uint32_t endpoint;
  (void)version;
  (void)upload;
  if (request)
    return answer_job(serve, request->job, connection);
  const bool has_token = hwi_authority_has_token(&serve->authority);
  if (has_token ? hwi_http_is_of_other_page(connection) : !hwi_http_is_own(&serve->http, connection))
    return hwi_http_say(
        connection, MHD_HTTP_FORBIDDEN,
        "this server answers to requests that call it by an IP address or localhost, with its port, and to no page\n");
  if (!hwi_authority_allows(&serve->authority, hwi_http_header(connection, MHD_HTTP_HEADER_AUTHORIZATION)))
    return refuse(connection);
  hwi_strangers_forget(&serve->http.strangers, connection);
  const bool is_list = strcmp(path, "/") == 0 || strcmp(path, HWI_PPROF_FOLDER) == 0;
  if (!is_list && !hwi_live_endpoint_find(path, &endpoint))
    return hwi_http_say(connection, MHD_HTTP_NOT_FOUND, "there is no such endpoint; / lists them\n");
  if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 || *upload_bytes)
    return hwi_http_say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "this server takes only GET\n");
  if (is_list)
    return answer_list(connection, path);
  if (!hwi_live_query_read(&query, endpoint, connection, why))
    return hwi_http_say(connection, MHD_HTTP_BAD_REQUEST, why);
  return wait_for(serve, connection, &query, (struct request **)place);
}

static void end_request(void *context, struct MHD_Connection *connection, void **place,
                        enum MHD_RequestTerminationCode code)
{
  struct hwi_serve *serve = context;
  struct request *request = *place;
  (void)connection;
  (void)code;
  *place = NULL;
  if (!request)
    return;
  hwi_http_end_waiter(&serve->http, &request->http);
  request->job->requests--;
  free(request);
}

/* --- work --- */

static void end_part(struct job *job, struct part *part, const struct hwi_live_answer *answer)
{
  part->answers[job->stage] = *answer;
  part->is_done = true;
}

/* An answer is that of the oldest job that asked. If that has ended meanwhile, the answer has no taker. */
static void take(struct hwi_serve *serve, struct hwi_fleet_run *run)
{
  struct hwi_live_answer answer = {.fd = -1};
  struct part *taker = NULL;
  struct job *its_job = NULL;
  if (!hwi_fleet_take(run, &answer))
    snprintf(answer.error, sizeof answer.error, "the process that followed the run has ended");
  for (struct job *job = serve->jobs; job; job = job->next)
    for (uint32_t i = 0; i < job->part_count; i++)
      if (job->parts[i].run == run && job->parts[i].is_asked && !job->parts[i].is_done) {
        taker = &job->parts[i];
        its_job = job;
      }
  if (taker)
    end_part(its_job, taker, &answer);
  else if (answer.fd >= 0)
    close(answer.fd);
}

/* Without those that read their recording from its begin, which are few, too. */
static uint32_t count_asked(const struct hwi_serve *serve)
{
  uint32_t count = 0;
  for (size_t i = 0; i < serve->fleet->count; i++) {
    const struct hwi_fleet_run *run = serve->fleet->runs[i];
    count += run->asked_ms && run->has_read && !hwi_fleet_is_late(run);
  }
  return count;
}

/* Asks for a part, if it is not there and analysts `may_work`. That of a run that was found just now begins when others have read
 * theirs. */
static void ask_part(struct job *job, struct part *part, bool may_work)
{
  static const struct hwi_live_answer gone = {.fd = -1, .error = "no process follows the run at present"},
                                      late = {.fd = -1};
  struct hwi_fleet_run *run = part->run;
  struct hwi_live_answer kept;
  if (hwi_fleet_find_kept(run, &job->query, &kept))
    end_part(job, part, &kept);
  else if (run->analyst.socket < 0 && run->began_ms)
    end_part(job, part, &gone);
  else if (hwi_fleet_is_late(run))
    end_part(job, part, &late);
  else if (may_work && run->analyst.socket >= 0 && !run->asked_ms)
    part->is_asked = hwi_fleet_ask(run, &job->query);
}

/* Asks for the parts of a job, and ends its stage when all have come, or it is late. */
static void work_on(struct hwi_serve *serve, struct job *job)
{
  const uint64_t now_ms = hwi_os_monotonic_ms();
  uint32_t missing = 0, asked = count_asked(serve);
  if (job->is_done || now_ms < job->begin_ms)
    return;
  for (uint32_t i = 0; i < job->part_count; i++) {
    struct part *part = &job->parts[i];
    if (!part->is_done && !part->is_asked) {
      ask_part(job, part, asked < ASKED_MOST);
      asked += part->is_asked;
    }
    missing += !part->is_done;
  }
  if (missing > 0 && now_ms - job->begin_ms < job->patience_ms)
    return;
  job->is_done = job->stage == LATEST || job->parts[0].answers[EARLIER].fd < 0; /* a profile is of one run */
  if (job->is_done)
    return;
  job->stage = LATEST;
  job->begin_ms = now_ms + job->query.numbers[HWI_LIVE_SECONDS] * 1000; /* since the profile of the begin */
  for (uint32_t i = 0; i < job->part_count; i++)
    job->parts[i].is_done = job->parts[i].is_asked = false;
}

static void work(struct hwi_serve *serve)
{
  const uint64_t now_ms = hwi_os_monotonic_ms();
  for (struct job *job = serve->jobs; job; job = job->next)
    work_on(serve, job);
  for (size_t i = 0; i < serve->fleet->count; i++) {
    struct hwi_fleet_run *run = serve->fleet->runs[i];
    if (!run->asked_ms && run->analyst.socket >= 0 && now_ms - run->heard_ms >= STATE_EVERY_MS)
      hwi_fleet_ask(run, NULL);
  }
  for (struct hwi_http_waiter *waiter = serve->http.waiters; waiter; waiter = waiter->next)
    if (((const struct request *)waiter)->job->is_done)
      hwi_http_serve_waiter(&serve->http, waiter);
}

static void end_jobs(struct hwi_serve *serve)
{
  for (struct job **at = &serve->jobs; *at;) {
    struct job *job = *at;
    if (job->requests > 0) {
      at = &job->next;
    } else {
      *at = job->next;
      release_job(job);
    }
  }
}

/* --- the whole --- */

int hwi_serve_start(struct hwi_serve **made, const struct hwi_serve_options *options, struct hwi_error *error)
{
  struct hwi_serve *serve = *made = calloc(1, sizeof *serve);
  char address[HWI_LIVE_HOST_BYTES];
  uint16_t port;
  if (!serve)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a server");
  int status = hwi_authority_init(&serve->authority, options->token, error);
  if (status == 0)
    status = hwi_live_split(options->address, HWI_SERVE_PORT, address, &port, error);
  if (status == 0)
    status = hwi_http_start(&serve->http, address, port, error);
  if (status == 0 && serve->http.listener.is_public && !hwi_authority_has_token(&serve->authority)) {
    close(serve->http.listener.fd);
    status =
        hwi_error_set(error, HW_ERR_USAGE,
                      "--serve %s: other machines can reach this address: choose 127.0.0.1, or write a secret into a "
                      "file and add --token FILE",
                      options->address);
  }
  if (status == 0 && !hwi_http_serve(&serve->http, handle, end_request, serve))
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for a server");
  if (status < 0) {
    free(serve);
    *made = NULL;
  }
  return status;
}

const char *hwi_serve_host(const struct hwi_serve *serve)
{
  return serve->http.listener.host;
}

bool hwi_serve_is_public(const struct hwi_serve *serve)
{
  return serve->http.listener.is_public;
}

/* Waits for a connection, the end, or an answer. Returns false, with errno, if that is not possible. */
static bool wait_for_events(const struct hwi_serve *serve, struct pollfd *fds, int stop_fd)
{
  const struct hwi_fleet *fleet = serve->fleet;
  fds[0] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
  fds[1] = (struct pollfd){.fd = hwi_http_events(&serve->http), .events = POLLIN};
  for (size_t i = 0; i < fleet->count; i++)
    fds[2 + i] = (struct pollfd){.fd = fleet->runs[i]->analyst.socket, .events = POLLIN};
  return poll(fds, 2 + fleet->count, hwi_http_patience(&serve->http)) >= 0 || errno == EINTR;
}

static void end_all(struct hwi_serve *serve)
{
  if (serve->http.daemon)
    hwi_http_stop(&serve->http);
  serve->http.daemon = NULL;
  end_jobs(serve);
}

/* Allows as many files as possible. Returns for how many runs they are enough. */
static size_t allow_many_files(void)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
    return HWI_FLEET_RUNS_MAX;
  const rlim_t usual = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
    limit.rlim_cur = usual;
  const rlim_t runs = limit.rlim_cur / FILES_A_RUN;
  return runs < HWI_FLEET_RUNS_MAX ? (size_t)runs : HWI_FLEET_RUNS_MAX;
}

int hwi_serve_run(struct hwi_serve *serve, struct hwi_fleet *fleet, int stop_fd, struct hwi_error *error)
{
  struct pollfd *fds = calloc(2 + HWI_FLEET_RUNS_MAX, sizeof *fds);
  int status = fds ? 0 : hwi_error_set(error, HW_ERR_MEMORY, "no memory for a server");
  serve->fleet = fleet;
  fleet->most = allow_many_files();
  while (status == 0) {
    hwi_fleet_look(fleet);
    if (!wait_for_events(serve, fds, stop_fd))
      status = hwi_error_set(error, HW_ERR_IO, "cannot wait for connections: %s", strerror(errno));
    else if (fds[0].revents)
      break;
    for (size_t i = 0; i < fleet->count && status == 0; i++)
      if (fds[2 + i].revents)
        take(serve, fleet->runs[i]);
    work(serve);
    if (status == 0 && !hwi_http_run(&serve->http))
      status = hwi_error_set(error, HW_ERR_IO, "the server cannot go on");
    end_jobs(serve);
    work(serve); /* for requests that have just come */
  }
  free(fds);
  end_all(serve);
  return status;
}

void hwi_serve_stop(struct hwi_serve *serve)
{
  if (serve)
    end_all(serve);
  free(serve);
}
