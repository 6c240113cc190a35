; The first pattern that defines a name at a place tells its kind.

(function_declaration name: (identifier) @name) @definition.function

(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (type_identifier) @owner
        (generic_type type: (type_identifier) @owner)
        (pointer_type (type_identifier) @owner)
        (pointer_type (generic_type type: (type_identifier) @owner))
      ]))
  name: (field_identifier) @name) @definition.method

(type_spec name: (type_identifier) @name type: (struct_type)) @definition.class
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(type_spec type: (interface_type (method_elem name: (field_identifier) @name) @definition.method))

(source_file (const_declaration (const_spec name: (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.constant))
(source_file
  (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.constant)))

(type_declaration (_) @declared) @declaration
(const_declaration (const_spec) @declared) @declaration
(var_declaration (var_spec) @declared) @declaration
(var_declaration (var_spec_list (var_spec) @declared)) @declaration

(function_declaration body: (_) @local.scope)
(method_declaration body: (_) @local.scope)
(func_literal body: (_) @local.scope)

; References

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (selector_expression field: (field_identifier) @name)) @reference.call
(selector_expression
  field: (field_identifier) @name (#match? @name "^\\p{Lu}")) @reference.member
((identifier) @name (#match? @name "^\\p{Lu}")) @reference.value
(type_identifier) @name @reference.type
(type_parameter_declaration name: (identifier) @local.definition)
