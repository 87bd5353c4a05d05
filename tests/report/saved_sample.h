/* saved_sample.h - a small report as JSON: inlined frames, a stack that was cut, a pause, two images, frames that are
 * left out */
#ifndef HWI_TESTS_REPORT_SAVED_SAMPLE_H
#define HWI_TESTS_REPORT_SAVED_SAMPLE_H

static const char saved_sample[] =
    "{\"schema\":\"heapwright-report/1\",\"trace\":\"a.hwt\",\"command\":\"./a\",\"pid\":7,\"duration_ns\":1000000,"
    "\"allocation_calls\":12,\"free_calls\":4,\"failed_calls\":1,\"allocated_bytes\":1200,\"peak_bytes\":900,"
    "\"peak_blocks\":9,\"live_blocks_at_end\":8,\"live_bytes_at_end\":800,\"lost_events\":2,\"stacks\":3,\n"
    "\"images\":[{\"trace\":\"a.hwt\",\"counted\":true,\"pid\":7,\"command\":\"./a\",\"executable\":\"/a\","
    "\"directory\":\"/\",\"allocated_bytes\":1200,\"silences\":[{\"from_ns\":5,\"to_ns\":9,\"why\":\"paused\"},"
    "{\"from_ns\":50,\"why\":\"disk full\"}]},{\"trace\":\"b.hwt\",\"counted\":false}],\n"
    "\"by_thread\":[{\"name\":\"a\",\"tid\":7},{\"name\":\"worker of a long name\",\"tid\":8}],\n"
    "\"modules\":[{\"path\":\"/a\",\"build_id\":\"00ff10\",\"bias\":4096},{\"path\":\"/lib/libc.so.6\","
    "\"build_id\":null,\"bias\":0}],\n"
    "\"top\":[{\"calls\":10,\"bytes\":1000,\"peak_bytes\":800,\"peak_blocks\":8,\"live_bytes\":700,\"live_blocks\":7,"
    "\"entry\":\"malloc\",\"stack\":["
    "{\"function\":\"make\",\"file\":\"/s/a.c\",\"line\":3,\"module\":\"/a\",\"inlined\":true,\"address\":4660},"
    "{\"function\":\"load\",\"file\":\"/s/a.c\",\"line\":9,\"module\":\"/a\",\"address\":4660},"
    "{\"function\":null,\"file\":null,\"line\":null,\"module\":null,\"address\":0,\"frames_left_out\":5},"
    "{\"function\":\"main\",\"file\":\"/s/a.c\",\"line\":20,\"module\":\"/a\",\"address\":5000}]},\n"
    "{\"calls\":1,\"bytes\":100,\"live_bytes\":100,\"live_blocks\":1,\"stack\":["
    "{\"function\":null,\"file\":null,\"line\":null,\"function_start\":64,\"module\":\"/lib/libc.so.6\","
    "\"reason\":\"stripped\",\"address\":18446744073699065856},"
    "{\"function\":\"main\",\"file\":\"/s/a.c\",\"line\":20,\"module\":\"/a\",\"address\":5000}]}\n]}\n";

#endif
