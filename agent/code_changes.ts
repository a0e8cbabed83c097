/**
 * The jumps and breakpoint instructions that stand in the program's code, whoever asked for them (hooks, observed functions, probes): one list, in memory that outlives the agent,
 * in the order in which they were made. The host writes them and takes them out while it holds the threads (strobe/capture/code_patches.py).
 * From the list come those of an agent before this one, which the host takes back when it attaches (to a forked child, or after an agent that
 * could not), and what this agent takes back itself when the host is not there to do it.
 */

import { JUMP } from "./abi.js";
import { readOwnMemory } from "./libc.js";
import { PresentCode } from "./present_code.js";
import type { Recorder } from "./recorder.js";

const JUMP_OPCODE = 0xe9; // jmp rel32
const JUMP_BYTES = 5;

const BREAKPOINT = "cc"; // int3
const BREAKPOINT_BYTES = 1;

export interface Jump {
    address: NativePointer;
    leadsTo: NativePointer;
    /** What stands there, in hexadecimal digits. */
    original: string;
    /** A breakpoint instruction, which the recorder has lead there. */
    isBreakpoint?: boolean;
    /** Of an instruction, not of a function's entry. */
    isProbe?: boolean;
}

/** Bytes in hexadecimal digits. */
export interface LeftChange {
    address: string;
    present: string;
    original: string;
}

export class CodeChanges {
    private readonly entries: NativePointer;
    private readonly count: NativePointer;
    private readonly capacity: number;
    /** Of each entry, and where the entries of an address are. */
    private addresses: number[] = [];
    private places = new Map<number, number[]>();
    /** Of an agent before this one. */
    readonly left: LeftChange[];

    constructor(private readonly recorder: Recorder, form: Record<string, NativePointer>) {
        const found = Memory.alloc(16);
        this.capacity = new NativeFunction(form.strobe_agent_jumps, "uint32", ["pointer", "pointer"])(found, found.add(8)) as number;
        this.entries = found.readPointer();
        this.count = found.add(8).readPointer();
        this.left = this.takeOver();
    }

    /** For strobe_agent_write_trampolines: where the list lies. */
    get list(): NativePointer {
        return this.entries;
    }

    get length(): number {
        return this.addresses.length;
    }

    /** Before any of them is written. Those without room would stay if nobody took them out. */
    note(jumps: Jump[]): void {
        for (const { address, leadsTo, original, isBreakpoint, isProbe } of jumps) {
            const key = Number(address);
            const known = this.places.get(key) ?? [];
            const free = known.find(index => !this.stands(index));
            const index = free ?? this.length;
            if (index >= this.capacity) break;
            const entry = this.entry(index);
            entry.writePointer(address).add(JUMP.leadsTo).writePointer(leadsTo);
            entry.add(JUMP.original).writeByteArray(bytesOf(original));
            entry.add(JUMP.written).writeU32(isBreakpoint === true ? BREAKPOINT_BYTES : JUMP_BYTES);
            entry.add(JUMP.isProbe).writeU32(isProbe === true ? 1 : 0);
            if (free !== undefined) continue;
            this.add(key, index);
            this.addresses.push(key);
        }
        this.setCount(this.length);
    }

    /** A library was unloaded: nothing may be written there any more. */
    forget(base: NativePointer, size: number): void {
        const [start, end] = [Number(base), Number(base) + size];
        this.keep(this.addresses.map(address => address < start || address >= end));
    }

    private keep(stays: boolean[]): void {
        const before = this.addresses;
        this.addresses = [];
        this.places = new Map();
        before.forEach((address, index) => {
            if (!stays[index]) return;
            const place = this.length;
            if (place !== index) this.entry(place).writeByteArray(this.entry(index).readByteArray(JUMP.bytes) as ArrayBuffer);
            this.add(address, place);
            this.addresses.push(address);
        });
        this.setCount(this.length);
    }

    /**
     * Puts the program's own bytes back wherever a jump of ours stands, all but the first `kept` entries; for when the host is not there.
     * A jump that cannot be replaced while threads run stays, and leads through its trampoline as before: the next host takes it out.
     */
    takeBack(kept = 0): void {
        const code = new PresentCode();
        const stays = this.addresses.map((_, index) => index < kept);
        for (let index = this.length - 1; index >= kept; index--) {
            const entry = this.entry(index);
            const address = entry.readPointer();
            const size = written(entry);
            if (code.has(Number(address), size) && this.stands(index))
                stays[index] = !this.recorder.replaceCode(address, entry.add(JUMP.original).readByteArray(size) as ArrayBuffer);
        }
        this.keep(stays);
    }

    /**
     * Of jumps above one another, one change. What stands stays in the list until the host has taken it back: it may be killed before, and then
     * nobody else would know of it.
     */
    private takeOver(): LeftChange[] {
        const count = this.count.readU32();
        const found = new Map<number, LeftChange>();
        if (count === 0) return [];
        const code = new PresentCode();
        for (let index = 0; index < count; index++) {
            const address = Number(this.entry(index).readPointer());
            this.add(address, index);
            this.addresses.push(address);
        }
        for (let index = count - 1; index >= 0; index--) {
            const entry = this.entry(index);
            const address = entry.readPointer();
            const size = written(entry);
            if (!code.has(Number(address), size)) continue;
            const change = found.get(Number(address));
            const present = change?.original ?? hexadecimal(address, size);
            if (present !== changed(entry) || (size === BREAKPOINT_BYTES && this.isWithinJump(Number(address)))) continue;
            const original = hexadecimal(entry.add(JUMP.original), size);
            found.set(Number(address), { address: address.toString(), present: change?.present ?? present, original });
        }
        this.keep(this.addresses.map(address => found.has(address)));
        return [...found.values()];
    }

    private add(address: number, index: number): void {
        this.places.set(address, [...(this.places.get(address) ?? []), index]);
    }

    /** Whether the code has this change; not where the same bytes are those of a jump that lies over it. */
    private stands(index: number): boolean {
        const entry = this.entry(index);
        if (hexadecimal(entry.readPointer(), written(entry)) !== changed(entry)) return false;
        return written(entry) === JUMP_BYTES || !this.isWithinJump(Number(entry.readPointer()));
    }

    private isWithinJump(address: number): boolean {
        for (let start = address - JUMP_BYTES + 1; start < address; start++) {
            for (const index of this.places.get(start) ?? []) {
                const entry = this.entry(index);
                if (written(entry) === JUMP_BYTES && hexadecimal(entry.readPointer(), JUMP_BYTES) === changed(entry)) return true;
            }
        }
        return false;
    }

    private entry(index: number): NativePointer {
        return this.entries.add(JUMP.bytes * index);
    }

    private setCount(count: number): void {
        this.count.writeU32(count);
    }
}

/** How many bytes of the program's code an entry of the list stands for. */
function written(entry: NativePointer): number {
    return entry.add(JUMP.written).readU32();
}

/** What it has there. */
function changed(entry: NativePointer): string {
    return written(entry) === BREAKPOINT_BYTES ? BREAKPOINT : jump(entry.readPointer(), entry.add(JUMP.leadsTo).readPointer());
}

/** Fewer where there is no memory any more. */
function hexadecimal(place: NativePointer, size: number): string {
    return digits(readOwnMemory(place, size));
}

function jump(address: NativePointer, to: NativePointer): string {
    const bytes = new Uint8Array(JUMP_BYTES);
    bytes[0] = JUMP_OPCODE;
    new DataView(bytes.buffer).setInt32(1, to.sub(address.add(JUMP_BYTES)).toInt32(), true);
    return digits(bytes.buffer);
}

function bytesOf(text: string): number[] {
    return (text.match(/../g) ?? []).map(byte => parseInt(byte, 16));
}

export function digits(bytes: ArrayBuffer): string {
    return [...new Uint8Array(bytes)].map(byte => byte.toString(16).padStart(2, "0")).join("");
}
