/** Sets up the recorder (csrc/recorder) in the target, in its portable form: compiled by TinyCC, fed by Interceptor probes. */

import { createThreadKey, deleteThreadKey, globalExport, loadLibrary, mapAnonymous, mapShared } from "./libc.js";

const RECORDER_BYTES = 4096;
const STANDARD_UNWINDER = "libgcc_s.so.1";

export interface RecorderRequest {
    source: string;
    segmentPath: string;
    segmentBytes: number;
}

export interface RecorderAnswer {
    form: "portable";
    catchesReturns: boolean;
}

export class Recorder {
    readonly onEnter: NativePointer;
    private readonly threadKey: number;
    private readonly end_: () => void;
    private readonly setPlans_: (count: number, functions: NativePointer, plans: NativePointer) => void;
    private readonly checkPatchable_: (
        count: number, addresses: NativePointer, sizes: NativePointer, results: NativePointer) => void;
    private readonly writeCode_: (address: NativePointer, bytes: NativePointer, count: number) => void;
    private readonly module: CModule;
    private readonly unwindTable: NativePointer;
    private readonly unwinders = new Set<string>();
    readonly answer: RecorderAnswer;

    constructor(request: RecorderRequest) {
        // the return stubs and what they use must outlive the script, so the state is not Memory.alloc'ed
        const state = mapAnonymous(RECORDER_BYTES);
        this.module = new CModule(request.source, { strobe_recorder: state });
        const symbols = this.module as unknown as Record<string, NativePointer>;
        this.onEnter = symbols.strobe_on_enter;
        this.end_ = new NativeFunction(symbols.strobe_agent_end, "void", []);
        this.setPlans_ = new NativeFunction(symbols.strobe_agent_set_plans, "void", ["uint32", "pointer", "pointer"]);
        this.checkPatchable_ = new NativeFunction(
            symbols.strobe_agent_check_patchable, "void", ["uint32", "pointer", "pointer", "pointer"]);
        this.writeCode_ = new NativeFunction(
            symbols.strobe_agent_write_code, "void", ["pointer", "pointer", "uint32"]);
        this.threadKey = createThreadKey(symbols.strobe_on_thread_end);
        const setKey = new NativeFunction(symbols.strobe_agent_set_thread_key, "void", ["uint32"]);
        setKey(this.threadKey);
        this.initialise(symbols, request);
        this.unwindTable = new NativeFunction(symbols.strobe_agent_unwind_table, "pointer", [])() as NativePointer;
        this.registerStandardUnwinder();
        const exitProbe = new NativeFunction(symbols.strobe_agent_exit_probe, "pointer", [])() as NativePointer;
        Interceptor.attach(globalExport("_exit"), exitProbe as unknown as NativeInvocationListenerCallbacks);
        Interceptor.flush();
        const catches = new NativeFunction(symbols.strobe_agent_catches_returns, "int", []);
        this.answer = { form: "portable", catchesReturns: catches() !== 0 };
    }

    private initialise(symbols: Record<string, NativePointer>, request: RecorderRequest): void {
        const init = new NativeFunction(
            symbols.strobe_agent_init, "int64", ["pointer", "pointer", "pointer", "uint64"]);
        const segment = mapShared(request.segmentPath, request.segmentBytes);
        const result = init(
            segment, globalExport("pthread_getspecific"), globalExport("pthread_setspecific"), mainStackAddress());
        if (Number(result) !== 0) throw new Error(`the recorder could not start: error ${-Number(result)}`);
    }

    /**
     * Every unwinder of the process must know the return stubs. The usual one may be loaded only when it is first needed
     * (pthread_exit in a C program), so it is loaded now.
     */
    private registerStandardUnwinder(): void {
        loadLibrary(STANDARD_UNWINDER);
        const shared = Module.findGlobalExportByName("__register_frame");
        if (shared !== null) this.registerUnwinder(shared);
    }

    /** `address`: of an unwinder's `__register_frame`. */
    registerUnwinder(address: NativePointer): void {
        if (this.unwinders.has(address.toString())) return;
        this.unwinders.add(address.toString());
        new NativeFunction(address, "void", ["pointer"])(this.unwindTable);
    }

    /** `plans`: 8 bytes each, struct strobe_function_plan. */
    setPlans(functions: number[], plans: number[][]): void {
        const ids = Memory.alloc(Math.max(4 * functions.length, 4));
        const values = Memory.alloc(Math.max(8 * functions.length, 8));
        ids.writeByteArray(new Uint32Array(functions).buffer as ArrayBuffer);
        values.writeByteArray(new Uint8Array(plans.flat()).buffer as ArrayBuffer);
        this.setPlans_(functions.length, ids, values);
    }

    /** STROBE_PATCH_* for each function. */
    checkPatchable(addresses: NativePointer[], sizes: number[]): Uint32Array {
        const count = addresses.length;
        const places = Memory.alloc(Math.max(8 * count, 8));
        const lengths = Memory.alloc(Math.max(8 * count, 8));
        const results = Memory.alloc(Math.max(4 * count, 4));
        addresses.forEach((address, index) => places.add(8 * index).writePointer(address));
        sizes.forEach((size, index) => lengths.add(8 * index).writeU64(size));
        this.checkPatchable_(count, places, lengths, results);
        return new Uint32Array(results.readByteArray(4 * count) as ArrayBuffer);
    }

    writeCode(address: NativePointer, bytes: ArrayBuffer): void {
        const copy = Memory.alloc(bytes.byteLength);
        copy.writeByteArray(bytes);
        Memory.patchCode(address, bytes.byteLength, place => this.writeCode_(place, copy, bytes.byteLength));
    }

    /** Switches recording off for good; the return stubs already on stacks go on working. */
    end(): void {
        this.end_();
        deleteThreadKey(this.threadKey);
    }
}

/** Any address in the main thread's stack. */
function mainStackAddress(): UInt64 {
    const line = File.readAllText("/proc/self/maps").split("\n").find(text => text.endsWith("[stack]"));
    return line === undefined ? uint64(0) : uint64(`0x${line.split("-")[0]}`);
}
