package pseudonym

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"syscall"
)

func set(words string) map[string]bool {
	m := map[string]bool{"": true}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// What everybody knows, and may stay. Whatever is not here gets a pseudonym: a
// public name that is missing makes a report harder to read, a private one that
// slips through cannot be taken back.
var (
	// Parts of the names of public models: gpt-5.2-codex, o4-mini, qwen3-coder:30b.
	modelWords = set(`gpt chatgpt codex o1 o3 o4 4o mini nano micro small medium large max pro turbo latest preview
		spark oss chat instruct base thinking reasoning high low fast auto review openai
		claude opus sonnet haiku anthropic gemini flash lite ultra gemma google llama meta qwen qwen2 qwen3 coder qwq
		mistral mixtral devstral codestral ministral magistral deepseek r1 v3 grok code kimi k2 glm phi granite nova`)
	modelNumber = regexp.MustCompile(`^v?\d{1,8}[bkm]?$`)
	// Some have a family and a number in one word: llama3, gemma3n is left out.
	modelFamily = regexp.MustCompile(`^(gpt|llama|gemma|phi|qwen|o)\d{1,2}$`)

	providers = set(`openai azure azure-openai oss ollama ollama-chat lmstudio openrouter amazon-bedrock bedrock anthropic
		google gemini vertex mistral groq deepseek xai together fireworks cerebras nvidia`)
	efforts = set(`none minimal low medium high xhigh max ultra auto default`)
	origins = set(`user subagent review compact guardian memory internal other`)
	tools   = set(`shell local_shell local_shell_call shell_command container.exec exec exec_command write_stdin unified_exec
		apply_patch patch_apply update_plan view_image web_search web_search_call web image_generation image_generation_call
		read_file list_dir grep_files js_repl mcp_tool_call custom_tool_call function_call tool_search_call tool_search
		list_mcp_resources list_mcp_resource_templates read_mcp_resource request_user_input spawn_agent send_input
		wait wait_agent close_agent resume_agent`)
	release = regexp.MustCompile(`^(\d{1,4}\.\d{1,4}\.\d{1,12}(-(alpha|beta|rc)(\.\d{1,4})*)?)?$`)
)

func modelName(s string) bool {
	for _, part := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune("-._:/ ", r) }) {
		if !modelWords[part] && !modelNumber.MatchString(part) && !modelFamily.MatchString(part) {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r > '~' })
}

// problem says of an error about a path what kind it is. The error itself is
// gone: its text would give the path away.
func (n *Names) problem(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading %s: %s", n.Path(path), kindOf(err))
}

func kindOf(err error) string {
	var errno syscall.Errno
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or directory"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	}
	return "it cannot be read (without --anonymize the reason is told)"
}
