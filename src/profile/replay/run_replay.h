/* run_replay.h - replays the images of a run, merged by time
 *
 * counted    an image whose events are replayed. The other images are only described.
 * hwi_run_replay_end also releases a replay that failed or was stopped. All functions that return an int return 0, or a
 * negative status that is described in `error`, unless their comment says otherwise.
 */
#ifndef HWI_PROFILE_REPLAY_RUN_REPLAY_H
#define HWI_PROFILE_REPLAY_RUN_REPLAY_H

#include "profile/epochs/epoch_writer.h"
#include "profile/replay/block_events.h"
#include "profile/replay/heap_view.h"
#include "profile/replay/pipe.h"
#include "profile/result/result.h"
#include "profile/summary/summary.h"
#include "trace/read/run.h"

/* A counted image from its first to its last moment. */
struct hwi_active {
  struct hwi_replay_image image;
  uint64_t head_ns; /* of its next event, or of its end if there is none left */
  struct hwi_event *events;
  int count, at;
  struct hwi_heap_view *heap_view; /* NULL: of malloc */
  bool follows;                    /* its process still writes: head_ns is the time up to which all is known */
};

/* Of a run that is followed while it is recorded. */
struct hwi_live_replay {
  size_t active_max;  /* each active image has a descriptor */
  uint32_t *unopened; /* images that wait until another one ends */
  size_t unopened_count, unopened_capacity;
  uint64_t delay_ns;    /* see hwi_trace_delay */
  uint64_t last_end_ns; /* of the images that ended so far */
  uint64_t applied_ns;  /* time of the last event that was applied */
  bool has_statuses;    /* all is over, and how the command ended was read */
  bool had_late_events; /* or an end, so that its figures may differ from those of a replay that begins now */
  bool had_new_rates;   /* of clocks: events of several images may have another order in a replay that begins now */
};

/* The caller sets the options, error, and summary or events. */
struct hwi_run_replay {
  struct hwi_result *result;
  struct hwi_run run;
  struct hwi_image *images;
  uint64_t base_ns;           /* monotonic time of the run's start */
  struct hwi_active **active; /* a heap: see hwi_run_replay_earliest */
  size_t active_count, active_capacity;
  size_t next;  /* image that was not active yet */
  bool is_live; /* the run is followed while it is recorded */
  struct hwi_live_replay live;
  uint64_t reads; /* with is_live: about so many events may be read now */
  const struct hwi_profile_options *options;
  struct hwi_summary *summary;
  struct hwi_epoch_writer *epoch_writer; /* NULL: no epochs are stored */
  struct hwi_pipe *pipe;                 /* passes events to the code that counts them */
  struct hwi_block_events *events;       /* NULL: a profile is made; else only the events are reported */
  uint64_t batches;                      /* so far, for reporting the progress */
  struct hwi_store heap_names;           /* with the option `heap`: of all heaps that were noted */
  bool has_heap;                         /* one of them is the one that is wanted */
  struct hwi_error *error;
};

/* Sets `error` to a lack of memory. Returns HW_ERR_MEMORY. */
int hwi_run_replay_no_memory(struct hwi_run_replay *replay);

/* Finds the run at `path`, and makes an empty result. The caller must release the run and the result, even after a
 * failure. */
int hwi_run_replay_begin(struct hwi_run_replay *replay, const char *path);

/* Reports from time to time how far `trace` has been read, if the options ask for progress. */
void hwi_run_replay_show_progress(struct hwi_run_replay *replay, const struct hwi_trace *trace);

/* Decides which images are counted, according to the options. It is in counted_images.c, like
 * hwi_run_replay_describe_others. */
int hwi_run_replay_choose(struct hwi_run_replay *replay);

/* Returns whether the options want the image, if they do not want the largest one. */
bool hwi_run_replay_is_wanted(const struct hwi_run_replay *replay, size_t number);

/* Sets `base_ns` to the start of the first counted image. Returns how long the counted images ran, according to
 * their headers. */
uint64_t hwi_run_replay_time_span(struct hwi_run_replay *replay);

/* Makes the image active, whose trace is open. *active stays valid until the image ends. */
int hwi_run_replay_add_image(struct hwi_run_replay *replay, uint32_t number, struct hwi_active **active);

/* Applies the next `count` events of the image, from active->at on, up to the end of the span. */
int hwi_run_replay_apply(struct hwi_run_replay *replay, struct hwi_active *active, int count);

/* Ends the image at its head_ns. If `others_go_on`, other images of the run go on. */
int hwi_run_replay_end_image(struct hwi_run_replay *replay, struct hwi_active *active, bool others_go_on);

/* Sets the image's head to its end, if its process is not followed any more: that was noticed later. */
void hwi_run_replay_go_to_end(const struct hwi_run_replay *replay, struct hwi_active *active);

/* Notes the names of the image's heaps, before its trace is finished. `view`: NULL for malloc. */
void hwi_run_replay_note_heaps(struct hwi_run_replay *replay, const struct hwi_heap_view *view);

/* Reports that no heap has the wanted name, with the names that there are; while the run is not over, only once some are
 * known. */
int hwi_run_replay_check_heap(struct hwi_run_replay *replay, bool is_over);

/* The active images are a heap by head_ns. It is in active_images.c. Returns the one with the earliest next event, or NULL;
 * *second_ns is lowered to the time of the next event of any other one. */
struct hwi_active *hwi_run_replay_earliest(const struct hwi_run_replay *replay, uint64_t *second_ns);
/* To be called when the head of the earliest image, or those of several images, have changed. */
void hwi_run_replay_first_has_moved(struct hwi_run_replay *replay);
void hwi_run_replay_order_images(struct hwi_run_replay *replay);

/* Replays all counted images into the result's replay, which must be initialized. A run that is followed is replayed as
 * far as it is known: it can be called again. */
int hwi_run_replay_all(struct hwi_run_replay *replay);

/* Looks what the processes of a run that is followed have written since, and which ones began. Sets *is_over if none of
 * them goes on. It is in live_run.c, like the next ones. */
int hwi_run_replay_look(struct hwi_run_replay *replay, bool *is_over);

/* Around a call of hwi_run_replay_all that has much to read: meanwhile another thread may count. It is in run_replay.c. */
void hwi_run_replay_begin_to_catch_up(struct hwi_run_replay *replay);
int hwi_run_replay_end_to_catch_up(struct hwi_run_replay *replay);

/* Lets image `number` of a run that is followed wait until another one ends. */
int hwi_run_replay_open_later(struct hwi_run_replay *replay, uint32_t number);

/* Opens an image, and makes it active. An image that cannot be read is noted. It is in run_replay.c. */
int hwi_run_replay_start_image(struct hwi_run_replay *replay, uint32_t number);

/* Begins to follow an image that was just made active. */
int hwi_run_replay_follow(struct hwi_run_replay *replay, struct hwi_active *active);

/* Ends all images that are active, as they are now. */
int hwi_run_replay_stop(struct hwi_run_replay *replay);

/* Reads the next events of an image, all of whose events were applied. */
int hwi_run_replay_next_batch(struct hwi_run_replay *replay, struct hwi_active *active);

/* Before the first event: chooses the images that are counted, and initializes the result's replay. It is in finish.c,
 * like the next four. */
int hwi_run_replay_prepare(struct hwi_run_replay *replay);

/* Makes the scopes of rules, if there are rules; those that the program marked are made when the first one begins.
 * Returns false if there is no memory. */
bool hwi_scopes_prepare(const struct hwi_profile_options *options, struct hwi_resolver *resolver,
                        struct hwi_scopes **scopes);

/* After the last event: describe images and threads, then the figures of the whole run, its lists, and its texts. */
int hwi_run_replay_describe(struct hwi_run_replay *replay);
void hwi_run_replay_sum_up(struct hwi_run_replay *replay);
int hwi_run_replay_fill_lists(struct hwi_run_replay *replay);
int hwi_run_replay_complete(struct hwi_run_replay *replay);

/* Ends the span's phases that are over at `ns`. */
int hwi_run_replay_pass_phases(struct hwi_run_replay *replay, uint64_t ns);

/* Drops all active images and closes the traces, so that the run can be replayed from its start. No thread counts. */
void hwi_run_replay_abandon(struct hwi_run_replay *replay);

/* Opens the traces of the other images to read their descriptions. */
int hwi_run_replay_describe_others(struct hwi_run_replay *replay);

/* Reads the texts of the worst instances of scopes into their details. It is in instance_texts.c. */
int hwi_run_replay_read_texts(struct hwi_run_replay *replay);

/* Releases what is still in progress. The run and the result stay. */
void hwi_run_replay_end(struct hwi_run_replay *replay);

#endif
