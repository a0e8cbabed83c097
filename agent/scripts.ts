/**
 * Expressions in JavaScript that are evaluated when a traced function begins or returns. The recorder calls `run`, in
 * the thread that called the function, and keeps what it writes: the value as JSON.
 *
 * Nobody catches faults of the agent, so they read copies that the kernel makes, and nothing is written.
 */

import { REGISTERS, SCRIPT_AT_EXIT, SCRIPT_BYTES, SCRIPT_FAILED, SOURCE_RAX } from "./abi.js";
import { globalExport } from "./libc.js";

const MAX_TEXT = 1024;
const WIDTHS: Record<string, number> = {
    Pointer: 8, S8: 1, U8: 1, S16: 2, U16: 2, S32: 4, U32: 4, S64: 8, U64: 8, Short: 2, UShort: 2, Int: 4, UInt: 4, Long: 8, ULong: 8,
    Float: 4, Double: 8,
};

const UNDEFINED = "it is undefined (args[0] is an address: members of what lies there are to be read from it)";

type Evaluate = (args: NativePointer[], retval: NativePointer | undefined) => unknown;
/** `isOfResult`: there is none at the entry. */
type Expression = Evaluate & { isOfResult: boolean };

export const SET_CANCEL_STATE = Module.findGlobalExportByName("pthread_setcancelstate") ?? NULL;

let evaluating = 0;

export class Scripts {
    private readonly expressions = new Map<number, Expression>();
    private readonly run: NativeCallback<"uint64", ["uint64", "pointer", "pointer", "pointer"]>;
    private readonly setScript: (script: NativePointer, setCancelState: NativePointer) => void;
    private readonly endScripts: () => void;

    constructor(form: Record<string, NativePointer>) {
        this.setScript = new NativeFunction(form.strobe_agent_set_script, "void", ["pointer", "pointer"]);
        this.endScripts = new NativeFunction(form.strobe_agent_end_scripts, "void", []);
        this.run = new NativeCallback((number, registers, slot, out) => {
            const at = Number(number);
            return uint64(this.write(at & 0xffff, (at & SCRIPT_AT_EXIT) !== 0, registers, slot, out));
        }, "uint64", ["uint64", "pointer", "pointer", "pointer"]);
    }

    /** Throws SyntaxError. */
    compile(index: number, expression: string): void {
        const evaluate = new Function("args", "retval", `"use strict"; return (${expression}\n);`) as Evaluate;
        this.expressions.set(index, Object.assign(evaluate, { isOfResult: /\bretval\b/.test(expression) }));
        guardMemory();
        this.setScript(this.run, SET_CANCEL_STATE);
    }

    end(): void {
        this.setScript(NULL, SET_CANCEL_STATE);
    }

    /** As `end`, and returns when no thread runs one any more. */
    endAll(): void {
        this.endScripts();
    }

    private write(index: number, atExit: boolean, registers: NativePointer, slot: NativePointer, out: NativePointer): number {
        try {
            return writeText(out, this.value(index, atExit, registers, slot));
        } catch (error) {
            const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
            return writeText(out, JSON.stringify(reason.slice(0, SCRIPT_BYTES / 4))) + SCRIPT_FAILED;
        }
    }

    private value(index: number, atExit: boolean, registers: NativePointer, slot: NativePointer): string {
        const expression = this.expressions.get(index);
        if (expression === undefined) throw new Error("it was removed");
        const retval = atExit ? registers.add(8 * SOURCE_RAX).readPointer() : undefined;
        const before = current;
        current = atExit ? null : { registers, slot };
        evaluating++;
        try {
            const value = expression(args, retval);
            if (value === undefined && !expression.isOfResult) throw new Error(UNDEFINED);
            const text = asJson(value ?? null);
            if (text === undefined) return JSON.stringify("<no value>");
            return bytesOf(text) <= SCRIPT_BYTES ? text : shortened(typeof value === "string" ? value : text);
        } finally {
            evaluating--;
            current = before;
        }
    }
}

function bytesOf(text: string): number {
    return isAscii(text) ? text.length : utf8(text).length;
}

/** Its beginning as JSON; what was cut off shows as "…" at its end. */
function shortened(text: string): string {
    for (let length = Math.min(text.length, SCRIPT_BYTES);; length = Math.floor(length * 7 / 8)) {
        const found = JSON.stringify(text.slice(0, length) + "…");
        if (bytesOf(found) <= SCRIPT_BYTES) return found;
    }
}

function isAscii(text: string): boolean {
    return /^[\x01-\x7f]*$/.test(text);
}

function asJson(value: unknown): string {
    if (typeof value === "number" && Number.isFinite(value)) return String(value);
    return JSON.stringify(value, plain);
}

function writeText(out: NativePointer, text: string): number {
    if (isAscii(text)) {
        out.writeUtf8String(text);
        return text.length;
    }
    const bytes = utf8(text);
    out.writeByteArray(bytes);
    return bytes.length;
}

function utf8(text: string): number[] {
    return [...unescape(encodeURIComponent(text))].map(letter => letter.charCodeAt(0));
}

function plain(_name: string, value: unknown): unknown {
    if (typeof value === "bigint") return value.toString();
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    return value;
}

/** Of the call that an expression is evaluated for; null at a return. */
let current: { registers: NativePointer; slot: NativePointer } | null = null;

const args = new Proxy([] as NativePointer[], {
    get(_target, name): NativePointer | undefined {
        const index = Number(name);
        if (!Number.isInteger(index) || index < 0) return undefined;
        if (current === null) throw new Error("arguments are not known any more at the return: use retval, or `typeof retval`");
        const place = index < REGISTERS ? current.registers.add(8 * index) : current.slot.add(8 * (1 + index - REGISTERS));
        return inCopy(() => place.readPointer()); // it lies on the stack
    },
});

const readv = new NativeFunction(globalExport("process_vm_readv"), "long", ["int", "pointer", "ulong", "pointer", "ulong", "ulong"], {
    scheduling: "exclusive", // else another thread's expression runs meanwhile, and `current` and `evaluating` are its own
});

/* One expression runs at a time, and each copy is used before the next is made. */
const vectors = Memory.alloc(32);
const room = Memory.alloc(MAX_TEXT + 8);
const processId = Process.id;
const LOWEST = ptr(4096);

/** How many bytes could be read, from the first on. */
function readInto(copy: NativePointer, address: NativePointer, size: number): number {
    if (address.compare(LOWEST) < 0) return 0; // a null pointer, or a member of one
    vectors.writePointer(copy).add(8).writeU64(size);
    vectors.add(16).writePointer(address).add(8).writeU64(size);
    return Number(readv(processId, vectors, 1, vectors.add(16), 1, 0));
}

/** A copy of `size` bytes, made by the kernel: memory may go away at any moment. */
function copied(address: NativePointer, size: number): NativePointer {
    return inCopy(() => {
        const copy = size <= MAX_TEXT ? room : Memory.alloc(size);
        if (size !== 0 && readInto(copy, address, size) !== size) throw new Error(`Address not readable: ${address}`);
        return copy;
    });
}

/** The same of a text of no stated length: as much of it as can be read, within limits, and a zero behind it. */
function copiedText(address: NativePointer): { copy: NativePointer; size: number } {
    return inCopy(() => {
        const copy = Memory.alloc(MAX_TEXT + 8);
        const size = readInto(copy, address, MAX_TEXT);
        if (size <= 0) throw new Error(`Address not readable: ${address}`);
        return { copy, size };
    });
}

let isGuarded = false;

/** Within expressions alone; what the agent itself reads and writes is known to be there. */
function guardMemory(): void {
    if (isGuarded) return;
    isGuarded = true;
    const prototype = NativePointer.prototype as unknown as Record<string, (...values: unknown[]) => unknown>;
    for (const name of Object.getOwnPropertyNames(prototype)) {
        const own = prototype[name];
        if (name.startsWith("write"))
            prototype[name] = function (this: NativePointer, ...values): unknown {
                if (evaluating > 0) throw new Error("an expression of a watch may not write; debug_write does");
                return own.apply(this, values);
            };
        else if (name.startsWith("read"))
            prototype[name] = function (this: NativePointer, ...values): unknown {
                return evaluating > 0 ? readCopy(own, this, name.slice(4), values) : own.apply(this, values);
            };
    }
}

/** Has a method that reads work on a copy of what it would read. */
function readCopy(method: (...values: unknown[]) => unknown, address: NativePointer, kind: string, values: unknown[]): unknown {
    const size = WIDTHS[kind] ?? (typeof values[0] === "number" && values[0] >= 0 ? values[0] : undefined);
    if (size !== undefined) {
        const copy = copied(address, kind === "Utf16String" ? 2 * size : size);
        return inCopy(() => method.apply(copy, values));
    }
    if (address.isNull()) return inCopy(() => method.apply(address, values)); // no text: null
    const { copy, size: room } = copiedText(address);
    return inCopy(() => {
        const bytes = new Uint8Array(copy.readByteArray(room) as ArrayBuffer);
        const width = kind === "Utf16String" ? 2 : 1;
        let length = 0;
        while (length + width <= room && (bytes[length] !== 0 || (width === 2 && bytes[length + 1] !== 0))) length += width;
        return method.apply(copy, [length / width]);
    });
}

/** Reads and writes our own memory, which needs no copy. */
function inCopy<T>(read: () => T): T {
    evaluating--;
    try {
        return read();
    } finally {
        evaluating++;
    }
}
