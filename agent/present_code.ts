/**
 * Which memory of the process can be read at this moment. Nobody catches a fault of the agent (it runs without Frida's handlers, which
 * would stand between the program and its own), so what a library may have taken along is looked up before it is touched.
 */
export class PresentCode {
    private readonly starts: number[] = [];
    private readonly ends: number[] = [];

    constructor() {
        for (const range of Process.enumerateRanges("r--")) {
            const start = Number(range.base);
            if (this.ends[this.ends.length - 1] === start) this.ends.pop();
            else this.starts.push(start);
            this.ends.push(start + range.size);
        }
        if (this.ends.length === 0) throw new Error("its memory map cannot be read: it may have no file descriptor left (ulimit -n)");
    }

    has(address: number, bytes: number): boolean {
        let [low, high] = [0, this.starts.length];
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.starts[middle] <= address) low = middle + 1;
            else high = middle;
        }
        return low > 0 && address + bytes <= this.ends[low - 1];
    }
}
