package data

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Machine describes the machine of a run.
type Machine struct {
	CPU, Kernel, Go, Redis string
	Cores                  int
	MemoryMB               int
	Commit                 string // of the measured code
}

// ThisMachine describes this machine. Unknown fields are empty.
func ThisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), CPU: runtime.GOARCH, Kernel: runtime.GOOS}
	if cpu := field("/proc/cpuinfo", "model name"); cpu != "" {
		m.CPU = cpu
	}
	if kb, err := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		m.MemoryMB = kb / 1024
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = "Linux " + strings.TrimSpace(string(release))
	}
	m.Redis = redisVersion(output("redis-server", "--version"))
	m.Commit = output("git", "describe", "--always", "--dirty", "--exclude", "*")
	return m
}

func output(name string, args ...string) string {
	text, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

var versionWord = regexp.MustCompile(`v=(\S+)`)

// redisVersion finds the version in the output of redis-server --version.
func redisVersion(text string) string {
	if m := versionWord.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

// field returns the value in the first line with a name, in a file of /proc.
func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if left, right, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(left) == name {
			return strings.TrimSpace(right)
		}
	}
	return ""
}

// Version returns the version of a module in this program.
func Version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok || module == "" {
		return ""
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	return ""
}
