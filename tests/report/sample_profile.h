/* sample_profile.h - a profile made by hand, with frames of every kind, for the tests of reports
 *
 * It imitates the recording of a ROS 2 container over 602 s: its own code with lines, some of it inlined, long C++
 * names, folded libraries, a stripped driver, a recursion, a thread pool, names in UTF-8 and names that are not valid
 * UTF-8.
 */
#ifndef TESTS_REPORT_SAMPLE_PROFILE_H
#define TESTS_REPORT_SAMPLE_PROFILE_H

#include <string.h>

#include "report/report.h"

enum { SAMPLE_STACKS = 7, SAMPLE_SLICES = 200, SAMPLE_FRAMES_MAX = 128 };

struct sample {
  struct hwi_profile profile;
  struct hwi_trace_info info, child_info;
  struct hwi_image images[2];
  struct hwi_growing growing;
  struct hwi_stack stacks[SAMPLE_STACKS];
  struct hwi_frame frames[SAMPLE_FRAMES_MAX];
  struct hwi_profile_thread threads[3];
  struct hwi_time_point timeline[SAMPLE_SLICES];
  struct hwi_class_point class_points[SAMPLE_SLICES];
  struct hw_exit_status exit;
};

/* --- names: the frames at an address, innermost first --- */

enum { EXE = 1, PERCEPTION, RCLCPP, LIBC, DRIVER, LIBSTDCXX, LOADER, SAMPLE_MODULES };

static const struct hwi_profile_module sample_modules[SAMPLE_MODULES] = {
    [EXE] = {.path = "/opt/ros/humble/lib/rclcpp_components/component_container_mt", .bias = 0x1000},
    [PERCEPTION] = {.path = "/home/ana/ws/install/lib/libperception.so", .bias = 0x20000},
    [RCLCPP] = {.path = "/opt/ros/humble/lib/librclcpp.so", .bias = 0x30000},
    [LIBC] = {.path = "/usr/lib/x86_64-linux-gnu/libc.so.6", .bias = 0x40000},
    [DRIVER] = {.path = "/opt/vendor/libdriver.so.2",
                .bias = 0x50000,
                .build_id = {0x9f, 0x3a, 0x12, 0xcd, 0x77},
                .build_id_bytes = 20},
    [LIBSTDCXX] = {.path = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", .bias = 0x60000},
    [LOADER] = {.path = "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", .bias = 0x70000},
};

struct sample_name {
  uint64_t address;
  struct hwi_symbol symbols[2];
  uint32_t count;
};

#define SRC "/home/ana/ws/src/perception/src/"
static const struct sample_name sample_names[] = {
    {0x20010,
     {{"cloud_from_msg(sensor_msgs::msg::PointCloud2 const&)", SRC "convert.cpp", 0, 212, false, HWI_SYMBOL_OK}},
     1},
    {0x20020,
     {{"perception::PreprocessNode::on_cloud(std::shared_ptr<sensor_msgs::msg::PointCloud2_<std::allocator<void> > "
       "const>)",
       SRC "preprocess.cpp", 0, 77, false, HWI_SYMBOL_OK}},
     1},
    {0x20030,
     {{"std::__new_allocator<float>::allocate(unsigned long, void const*)", "/usr/include/c++/12/bits/new_allocator.h",
       0, 137, true, HWI_SYMBOL_OK},
      {"perception::VoxelGrid<pcl::PointXYZI, std::hash<perception::Key> >::reserve(unsigned long)", SRC "voxel.cpp", 0,
       31, true, HWI_SYMBOL_OK}},
     2},
    {0x20040,
     {{"perception::VoxelGrid<pcl::PointXYZI, std::hash<perception::Key> >::VoxelGrid(double)", SRC "voxel.cpp", 0, 19,
       false, HWI_SYMBOL_OK}},
     1},
    {0x20050,
     {{"perception::TrackStore::add(perception::Track const&)", SRC "tracks.cpp", 0, 88, false, HWI_SYMBOL_OK}},
     1},
    {0x20060, {{"perception::visit(perception::Tree const&)", SRC "tree.cpp", 0, 40, false, HWI_SYMBOL_OK}}, 1},
    {0x20070, {{"感知::ログ::書く(int)", SRC "log.cpp", 0, 41, false, HWI_SYMBOL_OK}}, 1},
    {0x30010,
     {{"rclcpp::Subscription<sensor_msgs::msg::PointCloud2_<std::allocator<void> > >::handle_message(std::shared_ptr<"
       "void>&, rclcpp::MessageInfo const&)",
       NULL, 0, 0, false, HWI_SYMBOL_NO_LINES}},
     1},
    {0x30020,
     {{"rclcpp::Executor::execute_any_executable(rclcpp::AnyExecutable&)", NULL, 0, 0, false, HWI_SYMBOL_NO_LINES}},
     1},
    {0x30030,
     {{"rclcpp::executors::MultiThreadedExecutor::run(unsigned long)", NULL, 0, 0, false, HWI_SYMBOL_NO_LINES}},
     1},
    {0x40010, {{"__libc_start_call_main", NULL, 0, 0, false, HWI_SYMBOL_NO_LINES}}, 1},
    {0x40020, {{NULL, NULL, 0, 0, false, HWI_SYMBOL_STRIPPED}}, 1},
    {0x40030, {{"clone3", NULL, 0, 0, false, HWI_SYMBOL_NO_LINES}}, 1},
    {0x500d0, {{NULL, NULL, 0, 0, false, HWI_SYMBOL_STRIPPED}}, 1},
    {0x600d0, {{NULL, NULL, 0, 0, false, HWI_SYMBOL_STRIPPED}}, 1},
    {0x70010, {{"call_init", NULL, 0, 0, false, HWI_SYMBOL_NO_LINES}}, 1},
    {0x70020, {{"_dl_init", NULL, 0, 0, false, HWI_SYMBOL_NO_LINES}}, 1},
    {0x01010, {{"main", "/opt/src/component_container_mt.cpp", 0, 55, false, HWI_SYMBOL_OK}}, 1},
    {0x01020, {{"_start", NULL, 0, 0, false, HWI_SYMBOL_NO_LINES}}, 1},
    {0x7f21c04e11d0, {{NULL, NULL, 0, 0, false, HWI_SYMBOL_NO_MODULE}}, 1},
    {0x20080, {{"evil\033[31m\nname", SRC "evil.c", 0, 1, false, HWI_SYMBOL_OK}}, 1},
};
#undef SRC

static uint32_t sample_find(void *context, const struct hwi_symbol_module *module, uint64_t address,
                            bool is_return_address, const struct hwi_symbol **frames)
{
  (void)context, (void)module, (void)is_return_address;
  for (size_t i = 0; i < sizeof sample_names / sizeof *sample_names; i++) {
    if (sample_names[i].address == address) {
      *frames = sample_names[i].symbols;
      return sample_names[i].count;
    }
  }
  static const struct hwi_symbol unknown = {.reason = HWI_SYMBOL_NO_MODULE};
  *frames = &unknown;
  return 1;
}

/* --- stacks --- */

/* Adds a stack's frames, given outermost first and ended by 0, below the one that an earlier call returned (or 0). The
 * fifth hexadecimal digit of an address selects its module. */
static uint32_t sample_frames(struct sample *sample, const uint64_t *addresses)
{
  static const uint8_t module_of[] = {EXE, EXE, PERCEPTION, RCLCPP, LIBC, DRIVER, LIBSTDCXX, LOADER};
  uint32_t caller = 0;
  for (; *addresses != 0; addresses++) {
    uint32_t at = 1;
    while (at < sample->profile.frame_count &&
           (sample->frames[at].address != *addresses || sample->frames[at].caller != caller))
      at++;
    if (at == sample->profile.frame_count) {
      uint64_t digit = *addresses >> 16;
      sample->frames[at] = (struct hwi_frame){
          .address = *addresses, .caller = caller, .module = digit < sizeof module_of ? module_of[digit] : 0};
      sample->profile.frame_count++;
    }
    caller = at;
  }
  return caller;
}

#define MAIN 0x01020, 0x40010, 0x01010
#define THREAD 0x40030, 0x40020
#define SPIN 0x30030, 0x30030, 0x30020, 0x30020, 0x30020, 0x30020, 0x30010, 0x30010, 0x30010
static const uint64_t sample_addresses[SAMPLE_STACKS][24] = {
    [1] = {THREAD, SPIN, 0x20020, 0x20010, 0},
    [2] = {MAIN, 0x30020, 0x30020, 0x30010, 0x20040, 0x20030, 0},
    [3] = {THREAD, SPIN, 0x500d0, 0x20050, 0},
    [4] = {THREAD, SPIN, 0x20060, 0x20060, 0x20060, 0x20060, 0x20060, 0x20060, 0x20060, 0x20060, 0x20070, 0},
    [5] = {0x70020, 0x70010, 0x600d0, 0},
    [6] = {THREAD, 0x7f21c04e11d0, 0x20080, 0},
};
#undef MAIN
#undef THREAD
#undef SPIN

static const struct hwi_stack sample_stacks[SAMPLE_STACKS] = {
    [1] = {.calls = 23108,
           .bytes = 28000000000,
           .free_calls = 23108,
           .temporary_calls = 4,
           .peak_blocks = 105,
           .peak_bytes = 148900000,
           .own_peak_bytes = 150000000,
           .smallest = 1200000,
           .largest = 8500000,
           .entry = HW_ENTRY_MALLOC},
    [2] = {.calls = 1,
           .bytes = 96000000,
           .live_blocks = 1,
           .live_bytes = 96000000,
           .peak_blocks = 1,
           .peak_bytes = 96000000,
           .own_peak_bytes = 96000000,
           .smallest = 96000000,
           .largest = 96000000,
           .entry = HW_ENTRY_NEW},
    [3] = {.calls = 53559,
           .bytes = 61699968,
           .live_blocks = 53559,
           .live_bytes = 61699968,
           .peak_blocks = 38368,
           .peak_bytes = 44199936,
           .own_peak_bytes = 61699968,
           .first_ns = 4000000000,
           .last_ns = 602000000000,
           .smallest = 1152,
           .largest = 1152,
           .entry = HW_ENTRY_NEW},
    [4] = {.calls = 12405161,
           .bytes = 13742300032,
           .free_calls = 12397590,
           .temporary_calls = 8114528,
           .failed_calls = 2,
           .live_blocks = 7571,
           .live_bytes = 29527328,
           .peak_blocks = 900,
           .peak_bytes = 123427360,
           .own_peak_bytes = 130000000,
           .smallest = 16,
           .largest = 4096,
           .entry = HW_ENTRY_MALLOC},
    [5] = {.calls = 1,
           .bytes = 72704,
           .live_blocks = 1,
           .live_bytes = 72704,
           .peak_blocks = 1,
           .peak_bytes = 72704,
           .own_peak_bytes = 72704,
           .smallest = 72704,
           .largest = 72704,
           .entry = HW_ENTRY_MALLOC},
    [6] = {.calls = 73,
           .bytes = 73000,
           .free_calls = 73,
           .own_peak_bytes = 1000,
           .smallest = 1000,
           .largest = 1000,
           .entry = HW_ENTRY_CALLOC},
};

static const struct hwi_size sample_sizes[] = {
    {16, 9905151, 363, 0, 400, 8000000, 0},   {1000, 73, 0, 0, 1, 0, 0},
    {1152, 53559, 53559, 38368, 53559, 0, 0}, {4096, 2500000, 7208, 600, 7300, 114528, 0},
    {1200000, 23108, 0, 105, 110, 4, 0},      {96000000, 1, 1, 1, 1, 0, 0},
};

/* --- the rest --- */

static const struct hwi_profile_thread sample_threads[] = {
    {.image = 0,
     .number = 1,
     .tid = 81234,
     .name = "component_conta",
     .allocation_calls = 2,
     .free_calls = 0,
     .allocated_bytes = 96072704,
     .live_bytes = 96072704,
     .live_blocks = 2,
     .peak_bytes = 96072704,
     .own_peak_bytes = 96072704},
    {.image = 0,
     .number = 2,
     .tid = 81240,
     .policy = 1,
     .priority = 80,
     .name = "control",
     .allocation_calls = 1204,
     .free_calls = 1204,
     .allocated_bytes = 1400000000,
     .peak_bytes = 4000000,
     .own_peak_bytes = 6000000,
     .late_allocation_calls = 1200,
     .late_free_calls = 1201,
     .foreign_frees = 12},
    {.image = 0,
     .number = 3,
     .tid = 81241,
     .name = "executor",
     .allocation_calls = 12480697,
     .free_calls = 12419567,
     .failed_calls = 2,
     .temporary_calls = 8114532,
     .allocated_bytes = 40404000000,
     .live_bytes = 91227296,
     .live_blocks = 61130,
     .peak_bytes = 312527296,
     .own_peak_bytes = 312527296,
     .foreign_frees = 30000},
};

static const struct hwi_handover sample_handovers[] = {{0, 2, 29000, 33408000}, {1, 2, 1000, 1152000}, {2, 1, 12, 240}};

/* Thread 1, "control", has a share of stack 1; the executor has the rest of it, and all of most other stacks. */
static const struct hwi_profile_cell sample_cells[] = {
    {.thread = 1, .stack = 1, .size = 4, .calls = 1204, .peak_blocks = 3},
    {.thread = 2, .stack = 1, .size = 4, .calls = 21904, .temporary_calls = 4, .peak_blocks = 102},
    {.thread = 2, .stack = 1, .size = 3, .peak_blocks = 3},
    {.thread = 2, .stack = 1, .size = 1, .peak_blocks = 1},
    {.thread = 0, .stack = 2, .size = 5, .calls = 1, .peak_blocks = 1, .live_blocks = 1},
    {.thread = 2, .stack = 3, .size = 2, .calls = 53559, .peak_blocks = 38368, .live_blocks = 53559},
    {.thread = 2, .stack = 4, .size = 0, .calls = 9905151, .temporary_calls = 8000000, .live_blocks = 363},
    {.thread = 2,
     .stack = 4,
     .size = 3,
     .calls = 2500000,
     .temporary_calls = 114528,
     .peak_blocks = 600,
     .live_blocks = 7208},
    {.thread = 2, .stack = 6, .size = 1, .calls = 73},
};

static void sample_timeline(struct sample *sample)
{
  const uint64_t span_ns = 602400000000, peak_slice = 143;
  for (uint64_t i = 0; i < SAMPLE_SLICES; i++) {
    uint64_t bytes = i < 3 ? i * 30000000 : 96000000 + i * 950000;
    if (i == peak_slice)
      bytes = sample->profile.totals.peak_bytes;
    else if (i > peak_slice)
      bytes = 187300000;
    sample->timeline[i] = (struct hwi_time_point){
        .ns = span_ns * (i + 1) / SAMPLE_SLICES, .live_bytes = bytes, .max_bytes = bytes, .allocation_calls = 62409};
    struct hwi_class_point *point = &sample->class_points[i];
    point->ns = sample->timeline[i].ns;
    point->live_bytes[hwi_size_class(96000000)] = i < 3 ? 0 : 96000000;
    point->live_bytes[hwi_size_class(1152)] = i * 300000;
    point->live_bytes[hwi_size_class(1200000)] = bytes > 96000000 ? (bytes - 96000000) / 2 : 0;
    point->live_bytes[hwi_size_class(16)] = i % 50 == 20 ? 4800 : 16;
  }
  sample->profile.duration_ns = span_ns;
}

static void sample_init(struct sample *sample)
{
  memset(sample, 0, sizeof *sample);
  sample->info = (struct hwi_trace_info){
      .path = "/tmp/runs/heapwright.perception.81234.hwt",
      .command =
          "component_container_mt --ros-args -r __node:=perception -r __ns:=/front --params-file /tmp/launch_params_x1",
      .exit = &sample->exit,
      .silent_from_ns = UINT64_MAX,
      .thread_count = 4,
  };
  sample->info.header.pid = 81234;
  sample->info.header.audited_stacks = 9213;
  sample->info.exe = sample_modules[EXE].path;
  sample->child_info = sample->info;
  sample->child_info.header.pid = 81300;
  struct hwi_totals *totals = &sample->profile.totals;
  *totals = (struct hwi_totals){.allocation_calls = 12481903,
                                .free_calls = 12420771,
                                .failed_calls = 2,
                                .temporary_calls = 8114532,
                                .allocated_bytes = 41900145704,
                                .peak_bytes = 412600000,
                                .peak_blocks = 39375,
                                .peak_time_ns = 431200000000,
                                .live_blocks_at_end = 61132,
                                .live_bytes_at_end = 187300000};
  sample->images[0] = (struct hwi_image){.info = &sample->info, .totals = *totals, .counted = true};
  sample->images[1] = (struct hwi_image){.info = &sample->child_info, .totals = {.allocated_bytes = 120000000}};
  memcpy(sample->stacks, sample_stacks, sizeof sample_stacks);
  memcpy(sample->threads, sample_threads, sizeof sample_threads);
  sample_timeline(sample);
  struct hwi_profile *profile = &sample->profile;
  profile->frame_count = 1;
  for (uint32_t i = 1; i < SAMPLE_STACKS; i++)
    sample->stacks[i].frame = sample_frames(sample, sample_addresses[i]);
  profile->images = sample->images, profile->image_count = 2;
  profile->stacks = sample->stacks, profile->stack_count = SAMPLE_STACKS;
  profile->frames = sample->frames;
  profile->modules = sample_modules, profile->module_count = SAMPLE_MODULES;
  sample->growing = (struct hwi_growing){3, 0, 542160000000, 0, 55491840};
  profile->growing = &sample->growing, profile->growing_count = 1;
  profile->sizes = sample_sizes, profile->size_count = sizeof sample_sizes / sizeof *sample_sizes;
  profile->threads = sample->threads, profile->thread_count = 3;
  profile->cells = sample_cells;
  profile->cell_count = sizeof sample_cells / sizeof *sample_cells;
  profile->timeline = sample->timeline, profile->timeline_count = SAMPLE_SLICES;
  profile->class_points = sample->class_points, profile->class_point_count = SAMPLE_SLICES;
  profile->handovers = sample_handovers;
  profile->handover_count = sizeof sample_handovers / sizeof *sample_handovers;
}

static const char *sample_allocator(const struct hwi_symbol_module *program)
{
  (void)program;
  return NULL;
}

static struct hwi_report sample_report(const struct sample *sample)
{
  return (struct hwi_report){.profile = &sample->profile,
                             .names = {sample_find, NULL, sample_allocator},
                             .options = {.cost = HWI_COST_DEFAULT, .top = HWI_TOP_DEFAULT, .min_calls = 1}};
}

#endif
